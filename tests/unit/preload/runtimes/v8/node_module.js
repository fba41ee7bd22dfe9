// A module in the style of node, with a function on its only line.
module.exports = (block) => { const step = () => block(); step(); };
