// A module of the standard's kind.
export let counter = 0;
export const run = (block) => {
  counter += 1;
  block();
};
await null;
