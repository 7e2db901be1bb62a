// Block traces: a drag over a panel zooms into it, and the device is shown as it is filled. All data
// are read from the drawing.
for (const figure of document.querySelectorAll("figure.trace")) {
  const svg = figure.querySelector("svg[role=img]");
  const panels = Array.from(svg.querySelectorAll("svg.panel"));
  const box = (panel) => panel.getAttribute("viewBox").split(" ").map(Number);
  const whole = panels.map(box);
  const name = "http://www.w3.org/2000/svg";
  const make = (parent, tag, attributes, text) => {
    const node = document.createElementNS(name, tag);
    for (const key of Object.keys(attributes)) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  };
  const steps = (low, high, most) => {
    const wanted = (high - low) / most;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((nice) => nice * power).find((one) => one >= wanted * 0.7);
    const all = [];
    for (let at = Math.ceil(low / step); at * step <= high * (1 + 1e-9); at += 1) all.push(at * step);
    return [all, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))];
  };
  const place = (panel, key) => Number(panel.getAttribute(key));
  const times = svg.querySelector("g.times");
  const hint = times.nextElementSibling;
  const firstTimes = times.innerHTML;
  const firstHint = hint.textContent;
  const tickY = Number((times.querySelector("text") || hint).getAttribute("y"));
  const beginMs = Number(times.dataset.fromMs || 0);
  const showTimes = (inPanel, length) => {
    const from = beginMs + inPanel;
    const unit = length < 1000 ? 1 : 1000;
    hint.textContent = unit === 1 ? "milliseconds" : "seconds";
    times.replaceChildren();
    const panel = panels[0];
    const [values, digits] = steps(from / unit, (from + length) / unit, 8);
    for (const value of values) {
      const x = place(panel, "x") + (value * unit - from) / length * place(panel, "width");
      const at = { class: "tick", x: x.toFixed(1), y: tickY, "text-anchor": "middle" };
      make(times, "text", at, value.toFixed(digits));
    }
  };
  const showOffsets = (panel, low, high) => {
    const group = panel.previousElementSibling;
    const scale = panel.querySelector("g.places");
    const unit = Number(scale.dataset.unit);
    const devices = Array.from(scale.querySelectorAll("g[data-place]"), (device) =>
      ({ name: device.dataset.place, shift: Number(device.dataset.shift) }));
    group.replaceChildren();
    devices.forEach((device, number) => {
      // Devices stand above each other; each has offsets of its own.
      const next = number + 1 < devices.length ? devices[number + 1].shift : Infinity;
      const [from, until] = [Math.max(low, device.shift), Math.min(high, next)];
      if (from >= until) return;
      const most = Math.max(1, Math.round(5 * (until - from) / (high - low)));
      const own = [from - device.shift, until - device.shift].map((mib) => mib / unit);
      const [values, digits] = steps(own[0], own[1], most);
      for (const value of values) {
        const share = (high - value * unit - device.shift) / (high - low);
        const y = (place(panel, "y") + share * place(panel, "height")).toFixed(1);
        const x = place(panel, "x");
        make(group, "line", { class: "grid", x1: x, x2: x + place(panel, "width"), y1: y, y2: y });
        const at = { class: "tick", x: x - 6, y: Number(y) + 4, "text-anchor": "end" };
        const parts = [value.toFixed(digits), scale.dataset.word];
        if (devices.length > 1) parts.splice(0, 2, device.name, parts[0]);
        make(group, "text", at, parts.join(" "));
      }
    });
  };
  const firstValues = panels.map((panel) => panel.previousElementSibling.innerHTML);
  const zoom = (from, length, offsets) => {
    for (const panel of panels) {
      let [, top, , height] = box(panel);
      if (offsets && panel.classList.contains("field")) {
        [top, height] = [-offsets[1], offsets[1] - offsets[0]];
        showOffsets(panel, offsets[0], offsets[1]);
      }
      panel.setAttribute("viewBox", [from, top, length, height].join(" "));
    }
    showTimes(from, length);
  };
  const reset = () => {
    panels.forEach((panel, at) => {
      panel.setAttribute("viewBox", whole[at].join(" "));
      panel.previousElementSibling.innerHTML = firstValues[at];
    });
    times.innerHTML = firstTimes;
    hint.textContent = firstHint;
  };
  for (const panel of panels) {
    const ground = make(panel.parentNode, "rect", {
      class: "ground", x: place(panel, "x"), y: place(panel, "y"),
      width: place(panel, "width"), height: place(panel, "height"),
    });
    const share = (event) => {
      const at = ground.getBoundingClientRect();
      const inside = (value) => Math.min(1, Math.max(0, value));
      return [inside((event.clientX - at.left) / at.width),
        inside((event.clientY - at.top) / at.height)];
    };
    let begun = null;
    let mark = null;
    const isField = panel.classList.contains("field");
    ground.addEventListener("pointerdown", (event) => {
      begun = share(event);
      ground.setPointerCapture(event.pointerId);
      mark = make(panel.parentNode, "rect", { class: "chosen" });
    });
    const drag = (event) => {
      const now = share(event);
      const x = [Math.min(begun[0], now[0]), Math.max(begun[0], now[0])];
      const y = isField ? [Math.min(begun[1], now[1]), Math.max(begun[1], now[1])] : [0, 1];
      return [x, y];
    };
    ground.addEventListener("pointermove", (event) => {
      if (!begun) return;
      const [x, y] = drag(event);
      mark.setAttribute("x", place(panel, "x") + x[0] * place(panel, "width"));
      mark.setAttribute("width", (x[1] - x[0]) * place(panel, "width"));
      mark.setAttribute("y", place(panel, "y") + y[0] * place(panel, "height"));
      mark.setAttribute("height", (y[1] - y[0]) * place(panel, "height"));
    });
    const end = (event) => {
      if (!begun) return;
      const [x, y] = drag(event);
      begun = null;
      mark.remove();
      if (event.type !== "pointerup" || x[1] - x[0] < 0.005) return;
      const [left, top, width, height] = box(panel);
      const isBand = isField && y[1] - y[0] >= 0.02;
      const offsets = isBand && [-(top + y[1] * height), -(top + y[0] * height)];
      zoom(left + x[0] * width, (x[1] - x[0]) * width, offsets || null);
    };
    ground.addEventListener("pointerup", end);
    ground.addEventListener("pointercancel", end);
    ground.addEventListener("dblclick", reset);
  }
  const button = (parent, text, act) => {
    const node = document.createElement("button");
    node.type = "button";
    node.textContent = text;
    node.addEventListener("click", act);
    parent.append(node);
    return node;
  };
  const bar = document.createElement("p");
  bar.className = "aside tools";
  bar.append("Drag over a panel to zoom in. ");
  button(bar, "Whole", reset);
  svg.before(bar);
  for (const panel of panels.filter((one) => one.classList.contains("field"))) {
    movie(figure, panel, whole[panels.indexOf(panel)][2], beginMs, button);
  }
}

// The device as a square of cells, from its beginning on line by line. What was written stays; what
// happens just now is bright and fades.
function movie(figure, panel, endMs, beginMs, button) {
  const frames = 300;
  const fade = 10;
  const title = panel.previousElementSibling.previousElementSibling.textContent;
  const devices = Array.from(panel.querySelectorAll("g[data-rows]"), (group) => {
    const rows = Number(group.dataset.rows);
    const columnMs = Number(group.dataset.columnMs);
    const marks = [];
    for (const [kind, letter] of [["writes", 2], ["reads", 1], ["discards", 3]]) {
      const path = group.querySelector("path." + kind);
      const strokes = path ? path.getAttribute("d").matchAll(/M(\d+) (\d+)v([\d.]+)/g) : [];
      for (const [, column, row, length] of strokes) {
        const rows = length === ".5" ? 1 : Number(length) + 1;
        const frame = Math.floor(Number(column) * columnMs / endMs * frames);
        marks.push([Math.min(frames - 1, frame), Number(row), rows, letter]);
      }
    }
    marks.sort((a, b) => a[0] - b[0]);
    return { name: group.dataset.device, rows, marks };
  });
  const part = document.createElement("div");
  part.className = "movie";
  const head = document.createElement("p");
  head.className = "aside";
  head.textContent = title + ". The device as it is filled, a square for each " +
    "part of it from left to right and down.";
  part.append(head);
  const side = 320;
  const screens = devices.map((device) => {
    const canvas = document.createElement("canvas");
    canvas.width = side;
    canvas.height = side;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Parts of " + device.name + " that are read and written");
    part.append(canvas);
    return canvas.getContext("2d");
  });
  const colour = (word) => getComputedStyle(figure).getPropertyValue("--" + word).trim();
  const draw = (frame) => devices.forEach((device, number) => {
    const to = screens[number];
    const state = new Uint8Array(device.rows);
    const last = new Int32Array(device.rows).fill(-1000);
    const kinds = new Uint8Array(device.rows);
    for (const [at, row, rows, kind] of device.marks) {
      if (at > frame) break;
      for (let one = row; one < Math.min(row + rows, device.rows); one += 1) {
        if (kind === 1 && !state[one]) state[one] = 1;
        if (kind === 2) state[one] = 2;
        if (kind === 3) state[one] = 0;
        last[one] = at;
        kinds[one] = kind;
      }
    }
    const across = Math.ceil(Math.sqrt(device.rows));
    const size = side / across;
    const colours = [null, colour("blue"), colour("orange"), colour("green")];
    to.globalAlpha = 1;
    to.fillStyle = colour("band");
    to.fillRect(0, 0, side, side);
    for (let one = 0; one < device.rows; one += 1) {
      const x = one % across * size;
      const y = Math.floor(one / across) * size;
      const cell = [x, y, Math.max(1, size - 0.6), Math.max(1, size - 0.6)];
      if (state[one]) {
        to.globalAlpha = 0.35;
        to.fillStyle = colours[state[one]];
        to.fillRect(...cell);
      }
      const age = frame - last[one];
      if (age < fade) {
        to.globalAlpha = 1 - age / fade;
        to.fillStyle = colours[kinds[one]];
        to.fillRect(...cell);
      }
    }
  });
  const tools = document.createElement("p");
  tools.className = "tools";
  part.append(tools);
  let timer = null;
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = 0;
  slider.max = frames - 1;
  slider.value = frames - 1;
  slider.setAttribute("aria-label", "Time");
  const clock = document.createElement("span");
  clock.className = "aside";
  const show = () => {
    const frame = Number(slider.value);
    clock.textContent = " " + ((beginMs + (frame + 1) / frames * endMs) / 1000).toFixed(2) + " s";
    draw(frame);
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  };
  const step = (by) => {
    slider.value = Math.max(0, Math.min(frames - 1, Number(slider.value) + by));
    show();
    if (by > 0 && Number(slider.value) === frames - 1) stop();
  };
  const play = button(tools, "Play", () => {
    if (timer) {
      stop();
      return;
    }
    if (Number(slider.value) === frames - 1) slider.value = 0;
    play.textContent = "Pause";
    timer = setInterval(() => step(1), 50);
  });
  button(tools, "Step", () => { stop(); step(1); });
  button(tools, "Back", () => { stop(); step(-1); });
  slider.addEventListener("input", () => { stop(); show(); });
  tools.append(slider, clock);
  figure.append(part);
  show();
}
