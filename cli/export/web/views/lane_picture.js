// The picture of a lane. Each column of pixels is divided from the bottom up: running, waiting for
// a CPU, blocked.

export function draw_lane(profile, lane, canvas, colours) {
  const scale = devicePixelRatio || 1;
  const width = canvas.width = Math.max(1, Math.round(canvas.clientWidth * scale));
  const height = canvas.height = Math.max(1, Math.round(canvas.clientHeight * scale));
  const context = canvas.getContext('2d');
  const { slices, slice_ns } = profile;
  const parts = lane.map(() => 0);
  for (let x = 0; x < width; ++x) {
    const first = Math.floor(x * slices / width);
    const end = Math.max(first + 1, Math.floor((x + 1) * slices / width));
    parts.fill(0);
    for (let slice = first; slice < end; ++slice) {
      for (let state = 0; state < parts.length; ++state) parts[state] += lane[state][slice];
    }
    const sum = parts.reduce((all, part) => all + part, 0);
    const per_time = height / Math.max(sum, (end - first) * slice_ns);
    let bottom = height;
    for (let state = 0; state < parts.length; ++state) {
      if (parts[state] === 0) continue;
      context.fillStyle = colours[state];
      context.globalAlpha = state >= 2 ? 0.5 : 1;
      context.fillRect(x, bottom - parts[state] * per_time, 1, parts[state] * per_time);
      bottom -= parts[state] * per_time;
    }
  }
}
