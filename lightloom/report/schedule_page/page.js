"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const get = (id) => document.getElementById(id);
  const steps = data.steps, pairs = data.pairs, layout = data.layout, moments = data.moments;
  const timed = data.facts.some(([name]) => name === "completion time");
  const end = steps.reduce((most, step) => Math.max(most, step[1]), 1);
  const US = 1e6;
  let now = 0, timer = null, following = false, hits = [];

  // ---- small tools -------------------------------------------------------
  const us = (ps) => (ps / US).toLocaleString("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
  const size = (bytes) => {
    for (const [unit, of] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
      if (bytes >= of) return (bytes / of).toLocaleString("en", { maximumFractionDigits: 2 }) + " " + unit;
    }
    return Math.round(bytes) + " B";
  };
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const element = (tag, text) => { const made = document.createElement(tag); if (text !== undefined) made.textContent = text; return made; };
  // Viridis, at five places: it rises in lightness, so it is read without colour too.
  const SCALE = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const shade = (share) => {
    const dark = document.documentElement.dataset.theme === "dark";
    const at = Math.min(1, Math.max(0, dark ? 0.25 + 0.75 * share : 0.9 * (1 - share))) * (SCALE.length - 1);
    const low = Math.min(SCALE.length - 2, Math.floor(at));
    const mix = SCALE[low].map((value, i) => Math.round(value + (at - low) * (SCALE[low + 1][i] - value)));
    return `rgb(${mix.join(",")})`;
  };
  const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#b8860b"];
  const surface = (canvas) => {
    const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
    canvas.width = Math.round(box.width * ratio); canvas.height = Math.round(box.height * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, box.width, box.height);
    pen.font = "12px system-ui, 'DejaVu Sans', sans-serif";
    return [pen, box.width, box.height];
  };
  // Steps in which a rule is broken: marked in the table, and above the time line.
  const faulty = new Set(data.violations.map((row) => row[1]).filter((step) => step !== null));
  // Rows of each step, made once.
  const rowsOf = steps.map(() => []);
  (pairs.step || []).forEach((step, row) => { if (rowsOf[step]) rowsOf[step].push(row); });
  const planes = [...new Set(data.segments.map((segment) => segment.plane))].sort((a, b) => a - b);

  // The first moment of each step, and how many it has.
  const firstOf = new Map(), momentsOf = new Map();
  moments.forEach(([step], at) => { if (!firstOf.has(step)) firstOf.set(step, at); momentsOf.set(step, (momentsOf.get(step) || 0) + 1); });
  const stepNow = () => moments[now] ? moments[now][0] : 0;
  // What each plane holds, or sets, in the moment that is shown.
  const held = () => {
    const latest = new Map();
    for (let at = 0; at <= now && at < moments.length; at++) for (const segment of moments[at][3]) latest.set(data.segments[segment].plane, data.segments[segment]);
    return planes.map((plane) => latest.get(plane)).filter(Boolean);
  };
  // Pairs that send in this moment.
  const rowsNow = () => {
    const [step, from, to] = moments[now] || [0, 0, 0], all = rowsOf[step] || [];
    if (momentsOf.get(step) === 1) return all;
    if (timed) return all.filter((row) => pairs.start_ps[row] < to && pairs.end_ps[row] > from);
    const holds = new Set(held().map((segment) => segment.plane + ":" + segment.index));
    return all.filter((row) => pairs.plane[row] < 0 || holds.has(pairs.plane[row] + ":" + pairs.segment[row]));
  };
  // What each plane does in this moment, where planes change.
  const planesNow = () => {
    const counts = new Map();
    for (const segment of data.segments) counts.set(segment.plane, (counts.get(segment.plane) || 0) + 1);
    const told = held().filter((segment) => counts.get(segment.plane) > 1).map((segment) => {
      const setting = segment.set && moments[now][1] >= segment.set[0] && moments[now][1] < segment.set[1];
      return `plane ${segment.plane}: configuration ${segment.index + 1} of ${counts.get(segment.plane)}` + (setting ? `, set until ${us(segment.set[1])} us` : "");
    });
    return told.slice(0, 8).join("; ") + (told.length > 8 ? "; ..." : "");
  };

  // ---- fabric ------------------------------------------------------------
  const links = data.links;
  const loaded = () => links && (following || get("colour").value === "load");
  // Fabrics whose switches are drawn have a row for each tier.
  const tiered = () => links && links.spots.length && (loaded() || layout.levels);
  const places = (width, height) => {
    const margin = 22, nodes = layout.nodes;
    if (tiered()) return (node) => [margin + (width - 2 * margin) * links.spots[node][0], height * links.spots[node][1]];
    if (layout.shape === "grid") {
      const dx = (width - 2 * margin) / layout.cols, dy = (height - 2 * margin) / layout.rows;
      return (node) => [margin + dx * (0.5 + node % layout.cols), margin + dy * (0.5 + Math.floor(node / layout.cols))];
    }
    const radius = Math.min(width, height) / 2 - margin;
    return (node) => {
      const angle = 2 * Math.PI * node / Math.max(1, nodes) - Math.PI / 2;
      return [width / 2 + radius * Math.cos(angle), height / 2 + radius * Math.sin(angle)];
    };
  };
  // The circuits of a pair in this moment, by plane: "src>dst>plane".
  const lightOf = () => {
    const found = new Map();
    for (const segment of held()) segment.src.forEach((src, i) => {
      const key = `${src}>${segment.dst[i]}>${segment.plane}`, wide = segment.wavelengths ? segment.wavelengths[i] : null;
      if (!found.has(key)) found.set(key, []);
      found.get(key).push([wide ? wide.length : 1, wide ? wide[0] : segment.plane, segment.route ? segment.route[i] : null, segment.direction ? segment.direction[i] : null]);
    });
    return found;
  };
  // The rows that are drawn: [src, dst, wavelengths, first wavelength, route, bytes, plane, direction].
  const rows = () => {
    const chosen = get("node").value === "" ? null : Number(get("node").value), plane = get("plane").value;
    const on = (row) => plane === "all" || String(row[6]) === plane, bytes = new Map(), light = lightOf(), found = [];
    for (const row of rowsNow()) {
      const key = `${pairs.src[row]}>${pairs.dst[row]}>${pairs.plane[row]}`;
      bytes.set(key, (bytes.get(key) || 0) + pairs.bytes[row]);
    }
    const add = (src, dst, number, size, op) => {
      const key = `${src}>${dst}>${number}`, circuits = light.get(key) || [[1, number, null, null]];
      const total = circuits.reduce((sum, [wide]) => sum + wide, 0);
      for (const [wide, first, route, direction] of circuits) found.push([src, dst, wide, first, route, size * wide / total, number, direction, op]);
    };
    if (following) for (const [, src, dst, op, number] of way(true)) add(src, dst, number, 0, op);
    else if (get("draw").value === "circuits" && data.segments.length) for (const key of light.keys()) add(...key.split(">").map(Number), bytes.get(key) || 0, 0);
    else for (const [key, size] of bytes) add(...key.split(">").map(Number), size, 0);
    return found.filter((row) => on(row) && (chosen === null || row[0] === chosen || row[1] === chosen));
  };
  const painter = (drawn) => {
    if (following) return [(row) => row[8] ? css("--green") : css("--blue"), "Blue: copied, green: added up"];
    const by = get("colour").value === "load" && get("draw").value === "data" ? "bytes" : get("colour").value;
    if (by === "wavelength") return [(row) => PALETTE[(row[3] || 0) % PALETTE.length], "Colour: first wavelength (or plane) modulo " + PALETTE.length];
    const at = by === "bytes" ? 5 : 2;
    const most = drawn.reduce((found, row) => Math.max(found, row[at]), 1);
    const word = by === "bytes" ? "data of the pair, up to " + size(most) : "wavelengths of the circuit, up to " + most;
    return [(row) => shade(row[at] / most), "Colour: " + word];
  };
  const line = (pen, from, to, bend) => {
    const [x, y] = from, [u, v] = to, dx = u - x, dy = v - y;
    pen.beginPath(); pen.moveTo(x, y);
    pen.quadraticCurveTo((x + u) / 2 - dy * bend, (y + v) / 2 + dx * bend, u, v);
    pen.stroke();
  };
  const drawFabric = () => {
    const canvas = get("fabric"), [pen, width, height] = surface(canvas);
    const drawn = rows(), [colour, words] = painter(drawn);
    hits = [];
    const edges = get("colour").value === "load" && !following && layout.shape !== "planes" ? edgeLoads(drawn) : null;
    let said;
    if (loaded()) said = drawLinks(pen, width, height, drawn);
    else if (layout.shape === "planes" && !following || drawn.length > 3000 && !layout.rows && !layout.ring) said = drawPlanes(pen, width, height, drawn, colour, words);
    else said = drawNetwork(pen, width, height, drawn, colour, edges && edges.size ? edges : null, words);
    const count = new Set(drawn.map((row) => row[0] + ">" + row[1] + ">" + row[6])).size, noun = following ? `transfer${count === 1 ? "" : "s"} of the chunk` : get("draw").value === "circuits" && data.segments.length ? "pairs with circuits" : "pairs that send";
    get("legend").textContent = `${layout.label}. ${said}. ` + (count ? `${count.toLocaleString("en")} ${noun} drawn.${straight(drawn)}` : `There are no ${noun} in this ${momentsOf.get(stepNow()) > 1 ? "configuration" : "step"}${get("node").value === "" ? "" : " at node " + get("node").value}.`);
    get("planes-now").textContent = moments.length ? planesNow() : "";
    canvas.setAttribute("aria-label", `${layout.label}, step ${stepNow()}: ${count} ${noun}`);
  };
  // Why lines join the ends of pairs, where they do.
  const straight = (drawn) => {
    if (layout.shape === "planes" && !following || loaded()) return "";
    const bare = drawn.filter((row) => !(row[4] && row[4].length > 1) && (row[7] === null || row[7] === undefined)).length;
    if (!bare || tiered()) return "";
    if (layout.shape === "planes") return " Lines go through a switch, from port to port.";
    if (links) return " Lines join the ends of pairs; coloured by load, they go along links.";
    if (data.segments.some((segment) => segment.route || segment.direction)) return ` ${bare === drawn.length ? "They have" : bare + " have"} no circuit in the file: straight lines join their ends.`;
    return ` Circuits of this fabric (${data.facts[0][1]}) have no routes between its nodes: lines join their ends.`;
  };
  const drawNetwork = (pen, width, height, drawn, colour, load, words) => {
    const place = places(width, height), nodes = layout.nodes;
    pen.strokeStyle = css("--faint"); pen.lineWidth = 1.5;
    if (tiered()) switches(pen, place, width);
    else if (layout.shape === "grid") {
      const [x0, y0] = place(0), [x1, y1] = place(layout.cols + 1 < nodes ? layout.cols + 1 : 0);
      const dx = layout.cols > 1 ? place(1)[0] - x0 : width - 44, dy = layout.rows > 1 ? place(layout.cols)[1] - y0 : height - 44;
      for (let row = 0; row < layout.rows; row += layout.boxRows) for (let col = 0; col < layout.cols; col += layout.boxCols) {
        const across = Math.min(layout.boxCols, layout.cols - col), down = Math.min(layout.boxRows, layout.rows - row);
        pen.strokeRect(x0 + (col - 0.46) * dx, y0 + (row - 0.46) * dy, (across - 0.08) * dx, (down - 0.08) * dy);
      }
      if (layout.columnBoxes) {
        pen.setLineDash([4, 4]);
        for (let col = 0; col < layout.cols; col += 1) pen.strokeRect(x0 + (col - 0.4) * dx, y0 - 0.49 * dy, 0.8 * dx, (layout.rows - 0.02) * dy);
        pen.setLineDash([]);
      }
      if (layout.edges && nodes <= 4096) for (let node = 0; node < nodes; node++) {
        const row = Math.floor(node / layout.cols), col = node % layout.cols, last = layout.layerRows - 1;
        const stub = (x, y) => { const [u, v] = place(node); pen.beginPath(); pen.moveTo(u, v); pen.lineTo(u + x * dx * 0.34, v + y * dy * 0.34); pen.stroke(); };
        if (col + 1 < layout.cols) line(pen, place(node), place(node + 1), 0);
        if (row % layout.layerRows < last) line(pen, place(node), place(node + layout.cols), 0);
        if (layout.edges === "loops") {
          if (col === 0 && layout.cols > 2) stub(-1, 0);
          if (col === layout.cols - 1 && layout.cols > 2) stub(1, 0);
          if (row % layout.layerRows === 0 && last > 1) stub(0, -1);
          if (row % layout.layerRows === last && last > 1) stub(0, 1);
        }
      }
    } else if (layout.strides) {
      pen.lineWidth = 1;
      if (nodes <= 512) for (const stride of layout.strides) for (let node = 0; node < nodes; node++) line(pen, place(node), place((node + stride) % nodes), 0);
    } else {
      pen.beginPath(); pen.arc(width / 2, height / 2, Math.min(width, height) / 2 - 22, 0, 2 * Math.PI); pen.stroke();
    }
    let said = words;
    if (load) {
      const sent = get("draw").value === "data", most = Math.max(1, ...load.values());
      for (const [key, count] of load) {
        const [a, b] = key.split(">").map(Number);
        pen.strokeStyle = shade(count / most); pen.lineWidth = 1 + 5 * count / most;
        if (layout.shape === "circle") ringArc(pen, width, height, a, b, (b - a + nodes) % nodes === 1 ? 0 : 1, 0);
        else if (layout.edges === "loops") wire(pen, place, a, b, 3, [(width - 44) / layout.cols, (height - 44) / layout.rows]);
        else line(pen, place(a), place(b), 0.12);
      }
      said = sent ? `Colour: data on an edge of the fabric, up to ${size(most)}` : `Colour: wavelengths on an edge of the fabric, up to ${most}`;
    } else {
      pen.globalAlpha = drawn.length > 800 ? 0.35 : 0.85;
      for (const row of drawn) {
        pen.strokeStyle = colour(row); pen.lineWidth = drawn.length > 300 ? 1 : 2;
        if (row[4] && row[4].length > 1) {
          pen.beginPath();
          row[4].forEach((node, i) => { const [x, y] = place(node), off = ((row[3] || 0) % 8 - 3.5) * 1.2; i ? pen.lineTo(x + off, y + off) : pen.moveTo(x + off, y + off); });
          pen.stroke();
        } else if (tiered() && through(row[0], row[1]) !== undefined) {
          const by = place(through(row[0], row[1]));
          line(pen, place(row[0]), by, 0.02); line(pen, by, place(row[1]), 0.02);
        } else if (layout.shape === "circle" && row[7] !== null && row[7] !== undefined) ringArc(pen, width, height, row[0], row[1], row[7], row[3] || 0);
        else line(pen, place(row[0]), place(row[1]), layout.shape === "circle" ? 0 : 0.12);
      }
      pen.globalAlpha = 1;
    }
    dots(pen, place, drawn, Math.max(1.5, Math.min(9, 90 / Math.sqrt(Math.max(1, nodes)))), nodes <= 128, 0);
    return said;
  };
  // Along the fibre, outside in direction 0 and inside in direction 1, wavelengths apart.
  const ringArc = (pen, width, height, src, dst, direction, wavelength) => {
    const at = (node) => 2 * Math.PI * node / Math.max(1, layout.nodes) - Math.PI / 2;
    const off = 4 + (wavelength % 6) * 2.5, radius = Math.min(width, height) / 2 - 22;
    pen.beginPath(); pen.arc(width / 2, height / 2, radius + (direction ? -off : off), at(src), at(dst), Boolean(direction)); pen.stroke();
  };
  // From node to node, on the right of the way. Round a grid of such cells: stubs at both ends say where it leaves and comes.
  const wire = (pen, place, tail, head, apart, cell) => {
    const [x, y] = place(tail), [u, v] = place(head), long = Math.max(1, Math.hypot(u - x, v - y));
    const round = cell && (Math.abs(u - x) > 1.5 * cell[0] || Math.abs(v - y) > 1.5 * cell[1]);
    const layer = (node) => Math.floor(Math.floor(node / layout.cols) / layout.layerRows);
    const side = round && layer(tail) === layer(head) ? -apart : apart, right = [-(v - y) / long * side, (u - x) / long * side];
    const from = [x + right[0], y + right[1]], to = [u + right[0], v + right[1]];
    if (!round) return line(pen, from, to, 0);
    if (layer(tail) !== layer(head)) return line(pen, from, to, 0.08);
    const [ex, ey] = [-Math.sign(u - x) * cell[0] * 0.4, -Math.sign(v - y) * cell[1] * 0.4];
    line(pen, from, [from[0] + ex, from[1] + ey], 0);
    line(pen, [to[0] - ex, to[1] - ey], to, 0);
  };
  // Links by what they carry in this step, each way on its right; a node to a switch, or to a neighbour.
  const drawLinks = (pen, width, height, drawn) => {
    const place = places(width, height), some = following || get("node").value !== "", known = some || links.of[now] !== undefined;
    const carried = some ? carriedBy(drawn) : known ? links.loads[links.of[now]] : [[], []];
    // Of packets a link is as full as its data take long; light has no rate of a link.
    const lasts = carried[1].map((bytes, i) => links.rate ? bytes * 8 / links.rate[carried[0][i]] : bytes);
    const most = Math.max(1e-18, ...lasts), wide = layout.shape === "grid" && !links.spots.length;
    const [dx, dy] = wide ? [(width - 44) / layout.cols, (height - 44) / layout.rows] : [width, height];
    const link = (at, apart) => wire(pen, place, links.tail[at], links.head[at], apart, wide ? [dx, dy] : null);
    // Where links are many, they are thin and close, and crossings show through.
    const thin = Math.min(1, Math.max(0.15, 400 / links.tail.length));
    pen.strokeStyle = css("--faint"); pen.lineWidth = thin;
    if (links.tail.length <= 20000) links.tail.forEach((_, at) => link(at, 2.2 * thin));
    pen.globalAlpha = links.spots.length && thin < 0.3 ? 0.5 : 1;
    carried[0].forEach((at, i) => { pen.strokeStyle = following ? css("--blue") : shade(lasts[i] / most); pen.lineWidth = (1 + 3 * lasts[i] / most) * thin; link(at, 2.2 * Math.max(0.5, thin)); });
    pen.globalAlpha = 1;
    switches(pen, place, width);
    const radius = links.spots.length ? Math.max(1.5, Math.min(6, width / layout.nodes / 3)) : Math.max(1.5, Math.min(9, 90 / Math.sqrt(Math.max(1, layout.nodes))));
    dots(pen, place, following ? drawn : rowsNow().map((row) => [pairs.src[row], pairs.dst[row]]), radius, layout.nodes <= (links.spots.length ? 40 : 128), 0, wide);
    const tiers = links.tiers.length ? "Switches: " + links.tiers.map(([name, count]) => count + " " + name).join(", ") + ". " : "";
    if (!known) return tiers + "Loads of this step are not in this page";
    const lost = some ? drawn.filter((row) => !links.ways[row[0] + ">" + row[1]]).length : 0, left = lost ? `; the links of ${lost} pairs are not in this page` : "";
    if (following) return `${tiers}Blue: links that the chunk crosses${left}`;
    const needs = links.rate ? `time that a link needs for its data, up to ${us(most * 1e12)} us; ` : "";
    return `${tiers}Colour: ${needs}most data on a link ${size(Math.max(0, ...carried[1]))}${left}`;
  };
  // Links that some rows cross, and what these carry; one for each that is followed.
  const carriedBy = (drawn) => {
    const total = new Map();
    for (const row of drawn) for (const at of links.ways[row[0] + ">" + row[1]] || []) total.set(at, (total.get(at) || 0) + (following ? 1 : row[5]));
    return [[...total.keys()], [...total.values()]];
  };
  // Names where there is room for them, else numbers, else every so many of them.
  const switches = (pen, place, width) => {
    let first = layout.nodes;
    pen.textAlign = "center"; pen.textBaseline = "middle";
    for (const [name, count] of links.tiers) {
      const apart = width / count, text = (number) => count > 1 ? name + " " + number : name, room = apart > 7 * text(count - 1).length + 6;
      const every = Math.max(1, Math.ceil(26 / apart));
      for (let number = 0; number < count; number += every) {
        const [x, y] = place(first + number), said = room ? text(number) : String(number), half = Math.max(7, 3.6 * said.length);
        pen.fillStyle = css("--paper"); pen.strokeStyle = css("--ink"); pen.lineWidth = 1;
        pen.fillRect(x - half, y - 8, 2 * half, 16); pen.strokeRect(x - half, y - 8, 2 * half, 16);
        pen.fillStyle = css("--ink"); pen.fillText(said, x, y);
      }
      if (!room) { const [, y] = place(first); pen.fillStyle = css("--soft"); pen.textAlign = "left"; pen.fillText(name, 4, y - 16); pen.textAlign = "center"; }
      first += count;
    }
  };
  // The switch that two nodes share, where a grid cannot show all levels.
  const beside = new Map();
  if (links && layout.levels) links.tail.forEach((tail, at) => { if (tail < layout.nodes) { if (!beside.has(tail)) beside.set(tail, new Set()); beside.get(tail).add(links.head[at]); } });
  const through = (src, dst) => beside.size ? [...beside.get(src)].find((one) => beside.get(dst).has(one)) : undefined;
  const dots = (pen, place, drawn, radius, named, below, aside) => {
    const active = new Set(drawn.flatMap((row) => [row[0], row[1]]));
    pen.textAlign = "center"; pen.textBaseline = "middle";
    for (let node = 0; node < Math.min(layout.nodes, 20000); node++) {
      const [x, y] = place(node), v = below ? y + below : y - radius - 7, u = aside ? x + radius + 7 : x;
      pen.fillStyle = active.has(node) ? css("--ink") : css("--soft");
      pen.beginPath(); pen.arc(x, y, radius, 0, 2 * Math.PI); pen.fill();
      hits.push([x, y, radius + 3, node]);
      if (named) {
        pen.strokeStyle = css("--paper"); pen.lineWidth = 4; pen.strokeText(String(node), u, v);
        pen.fillStyle = css("--ink"); pen.fillText(String(node), u, v);
      }
    }
  };
  const edgeLoads = (drawn) => {
    const load = new Map(), nodes = layout.nodes, sent = get("draw").value === "data";
    const add = (a, b, count) => load.set(a + ">" + b, (load.get(a + ">" + b) || 0) + count);
    for (const row of drawn) {
      if (row[4]) for (let i = 1; i < row[4].length; i++) add(row[4][i - 1], row[4][i], sent ? row[5] : row[2]);
      else if (row[7] !== null && row[7] !== undefined && layout.edges === "loops") {
        // Along the row in directions 0 and 1, along the column in 2 and 3.
        const { rows: down, cols: across } = layout, turn = row[7] % 2 ? -1 : 1;
        const ahead = (node) => row[7] < 2 ? node - node % across + (node % across + turn + across) % across : (node + turn * across + nodes) % nodes;
        for (let node = row[0], left = down + across; node !== row[1] && left > 0; node = ahead(node), left--) add(node, ahead(node), sent ? row[5] : row[2]);
      } else if (row[7] !== null && row[7] !== undefined && layout.shape === "circle") {
        const turn = row[7] === 0 ? 1 : nodes - 1;
        for (let node = row[0]; node !== row[1]; node = (node + turn) % nodes) add(node, (node + turn) % nodes, sent ? row[5] : row[2]);
      }
    }
    return load;
  };
  const drawPlanes = (pen, width, height, drawn, colour, words) => {
    // Of a fabric without planes: who sends to whom.
    const alone = layout.shape !== "planes", chosen = get("plane").value;
    const shown = alone ? [null] : chosen === "all" ? planes : planes.filter((plane) => String(plane) === chosen);
    const across = Math.ceil(Math.sqrt(shown.length)) || 1, down = Math.ceil(shown.length / across) || 1;
    const side = Math.min(width / across, height / down) - 22, nodes = Math.max(1, layout.nodes);
    const cell = side / nodes;
    shown.forEach((plane, i) => {
      const x = 11 + (i % across) * (side + 22), y = 18 + Math.floor(i / across) * (side + 22);
      pen.strokeStyle = css("--faint"); pen.lineWidth = 1; pen.strokeRect(x, y, side, side);
      pen.fillStyle = css("--soft"); pen.textAlign = "left"; pen.textBaseline = "bottom"; pen.fillText(alone ? "rows send, columns receive" : "switch " + plane, x, y - 2);
      for (const row of drawn) if (alone || row[6] === plane) {
        pen.fillStyle = alone || get("colour").value === "bytes" ? colour(row) : row[5] ? css("--blue") : css("--yellow");
        const dot = Math.max(2, cell);
        pen.fillRect(x + row[1] * cell, y + row[0] * cell, dot, dot);
      }
    });
    return alone || get("colour").value === "bytes" ? words : "Blue circuits carry data in this step, yellow ones stand by";
  };

  // ---- time --------------------------------------------------------------
  const drawTime = () => {
    const byNode = get("rows").value === "nodes" || !planes.length, lines = byNode ? layout.nodes : planes.length;
    get("time").style.height = Math.max(90, Math.min(400, 24 + 40 * lines)) + "px";
    const canvas = get("time"), [pen, width, height] = surface(canvas), left = 46, right = 8, bottom = 20;
    const x = (ps) => left + (width - left - right) * ps / end;
    const all = byNode ? [...Array(layout.nodes).keys()] : planes;
    const count = Math.max(1, Math.min(all.length, 256)), every = Math.max(1, Math.ceil(all.length / 256));
    const tall = Math.min(48, (height - bottom - 4) / count);
    const where = new Map(all.filter((_, i) => i % every === 0).map((one, i) => [one, 4 + i * tall]));
    pen.fillStyle = css("--soft"); pen.textAlign = "right"; pen.textBaseline = "middle";
    const label = Math.max(1, Math.ceil(14 / tall));
    [...where].forEach(([one, y], i) => { if (i % label === 0) pen.fillText(String(one), left - 6, y + tall / 2); });
    const bar = (y, from, to, colour) => { pen.fillStyle = colour; pen.fillRect(x(from), y + tall * 0.08, Math.max(0.6, x(to) - x(from)), tall * 0.84); };
    for (const segment of data.segments) if (segment.set) {
      if (!byNode) { if (where.has(segment.plane)) bar(where.get(segment.plane), ...segment.set, css("--orange")); }
      else for (const node of new Set(segment.src.concat(segment.dst))) if (where.has(node)) bar(where.get(node), ...segment.set, css("--orange"));
    }
    // Alpha below data, as a node that sends anything is counted: see docs/how-to/see-a-schedule.md.
    const bars = [];
    (pairs.step || []).forEach((_, row) => {
      for (const one of byNode ? [pairs.src[row], pairs.dst[row]] : [pairs.plane[row]]) if (where.has(one)) bars.push([where.get(one), pairs.start_ps[row], pairs.end_ps[row]]);
    });
    if (timed) for (const [y, from, to] of bars) bar(y, from, Math.min(to, from + data.alpha), css("--yellow"));
    for (const [y, from, to] of bars) { const paid = timed ? Math.min(to, from + data.alpha) : from; if (to > paid) bar(y, paid, to, css("--blue")); }
    for (const index of faulty) if (steps[index]) { pen.fillStyle = css("--fault"); pen.fillRect(x(steps[index][0]), 0, Math.max(2, x(steps[index][1]) - x(steps[index][0])), 4); }
    const step = steps[stepNow()], frame = (from, to) => pen.strokeRect(x(from), 2, Math.max(1, Math.min(width - 1, x(to)) - x(from)), height - bottom);
    pen.strokeStyle = css("--ink"); pen.lineWidth = 1.5;
    if (moments[now]) frame(moments[now][1], moments[now][2]);
    if (step && momentsOf.get(stepNow()) > 1) { pen.setLineDash([3, 4]); pen.lineWidth = 1; frame(step[0], step[1]); pen.setLineDash([]); }
    pen.fillStyle = css("--soft"); pen.textBaseline = "top"; pen.textAlign = "center";
    for (const [ps, text] of ticks(pen, width - left - right)) {
      const half = pen.measureText(text).width / 2;
      pen.fillText(text, Math.max(left + (ps ? half : 0), Math.min(width - half, x(ps))), height - bottom + 5);
      pen.fillRect(x(ps) - 0.5, height - bottom - 1, 1, 5);
    }
    canvas.setAttribute("aria-label", `Time line of ${count} ${byNode ? "nodes" : "planes"} over ${timed ? us(end) + " microseconds" : steps.length + " steps"}`);
  };
  // Round numbers, as many as fit a width: 1, 2 or 5 times a power of ten.
  const ticks = (pen, wide) => {
    const whole = timed ? end / US : end, text = (value, places) => timed ? value.toLocaleString("en", { maximumFractionDigits: places }) + (value ? " us" : "") : "step " + value;
    for (let power = timed ? Math.floor(Math.log10(whole)) - 2 : 0; ; power++) for (const digit of [1, 2, 5]) {
      const every = Number(`${digit}e${power}`), places = Math.max(0, -power), count = Math.floor(whole / every * (1 + 1e-12));
      if (count > 12) continue;
      const labels = [...Array(count + 1).keys()].map((i) => Number((i * every).toPrecision(12)));
      const room = Math.max(...labels.map((value) => pen.measureText(text(value, places)).width)) * 1.3 + 6;
      if (count < 1 || room <= wide * every / whole) return labels.map((value) => [timed ? value * US : value, text(value, places)]);
    }
  };
  const drawUsed = () => {
    const canvas = get("used"), [pen, width, height] = surface(canvas), left = 46, right = 8, wide = width - left - right;
    const use = data.used[get("use").selectedIndex];
    if (!use) { pen.fillStyle = css("--soft"); pen.fillText("not known without times", left, height / 2); return; }
    const spans = use.bins ? use.bins.map((share, i) => [i / use.bins.length, (i + 1) / use.bins.length, share])
      : use.steps.map((share, i) => [steps[i][0] / end, steps[i][1] / end, share]);
    pen.fillStyle = css("--green");
    for (const [from, to, share] of spans) {
      const tall = (height - 14) * Math.min(1, share);
      pen.fillRect(left + from * wide, height - 6 - tall, Math.max(0.5, (to - from) * wide + 0.3), tall);
    }
    pen.strokeStyle = css("--faint"); pen.lineWidth = 1; pen.strokeRect(left, 8, wide, height - 14);
    pen.fillStyle = css("--soft"); pen.textAlign = "right"; pen.textBaseline = "top"; pen.fillText("100 %", left - 5, 4);
    pen.textBaseline = "bottom"; pen.fillText("0 %", left - 5, height - 2);
    const mean = spans.reduce((sum, [from, to, share]) => sum + (to - from) * share, 0);
    canvas.setAttribute("aria-label", `${use.label}: ${(100 * mean).toFixed(1)} percent of the rate is used on average`);
  };

  // ---- tables ------------------------------------------------------------
  const fillWhere = () => {
    const body = get("where").tBodies[0], foot = get("where").tFoot, byStep = get("by").value === "steps", shares = data.shares;
    body.replaceChildren(); foot.replaceChildren();
    get("where-first").textContent = byStep ? "step" : "node"; get("where-last").hidden = get("where-ends").hidden = !byStep;
    const nodes = shares ? shares.all : 1, row = (tag, texts) => {
      const line = element("tr");
      texts.forEach((text, i) => { if (byStep || i !== 1 && i !== 6) line.append(element(tag, text)); });
      return line;
    };
    const parts = (values, of) => shares ? values.map((value) => us(value / of)) : ["", "", "", ""];
    if (byStep) steps.forEach((step, index) => {
      const line = row("td", [index, step[5] && step[5].length ? step[5].join(" to ") : "", ...parts(shares && shares.steps[index], nodes), timed ? us(step[1]) : ""]);
      line.dataset.step = index; line.tabIndex = 0;
      if (faulty.has(index)) line.className = "bad";
      line.addEventListener("click", () => choose(firstOf.get(index)));
      line.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(firstOf.get(index)); });
      body.append(line);
    });
    else if (shares) shares.nodes.forEach((values, node) => body.append(row("td", [node, "", ...parts(values, 1), ""])));
    if (!shares) return;
    const sums = shares.steps.reduce((sum, values) => sum.map((value, i) => value + values[i]), [0, 0, 0, 0]);
    foot.append(row("th", ["all", "", ...parts(sums, nodes), us(end)]), row("th", ["", "", ...shares.percent.map((percent) => percent + " %"), ""]));
  };
  // Transfers of the chunk, those of this moment alone where `here`.
  const way = (here) => {
    const moved = data.transfers, chunk = Number(get("chunk").value), found = [], step = stepNow();
    const holds = new Set(here ? held().map((segment) => segment.plane + ":" + segment.index) : []);
    (moved.step || []).forEach((index, row) => {
      if (moved.chunk_lo[row] > chunk || chunk >= moved.chunk_hi[row]) return;
      if (here && (index !== step || moved.plane[row] >= 0 && !holds.has(moved.plane[row] + ":" + moved.segment[row]))) return;
      found.push([index, moved.src[row], moved.dst[row], moved.op[row], moved.plane[row], moved.segment[row]]);
    });
    return found;
  };
  const fillWay = () => {
    const list = get("way"); list.replaceChildren();
    for (const [step, src, dst, op, plane, segment] of way(false).slice(0, 2000)) {
      const item = element("li", `step ${step}: ${src} to ${dst}, ${op ? "added" : "copied"}`);
      item.dataset.moment = momentOf(step, plane, segment); list.append(item);
    }
    if (!list.children.length) list.append(element("li", "No transfer in this page moves this chunk."));
  };
  // The first moment of a step in which a plane holds a segment.
  const momentOf = (step, plane, segment) => {
    const begun = moments.findIndex(([of, , , begins]) => of === step && begins.some((at) => data.segments[at].plane === plane && data.segments[at].index === segment));
    return begun < 0 ? firstOf.get(step) : begun;
  };
  const fillVerdict = () => {
    const bad = data.violationCount;
    get("verdict").textContent = bad ? `${bad.toLocaleString("en")} violations${bad > data.violations.length ? ", the first " + data.violations.length + " below" : ""}.` : "No rule is broken.";
    get("verdict").className = bad ? "bad" : "";
    for (const [status, text] of data.certificates) get("certificates").append(element("li", `${status}: ${text}`));
    const body = get("violations").tBodies[0];
    get("violations").hidden = !bad;
    for (const row of data.violations) {
      const line = element("tr");
      row.forEach((text) => line.append(element("td", text === null ? "" : text)));
      if (row[1] !== null) { line.dataset.step = row[1]; line.addEventListener("click", () => choose(firstOf.get(row[1]))); }
      body.append(line);
    }
  };

  // ---- control -----------------------------------------------------------
  const draw = () => {
    drawFabric(); drawTime();
    const step = steps[stepNow()], count = momentsOf.get(stepNow()), moment = moments[now];
    get("now").textContent = step ? `step ${stepNow()} of ${steps.length}` + (count > 1 ? `, configuration ${now - firstOf.get(stepNow()) + 1} of ${count}` : "") + (timed ? `: ${us(moment[1])} to ${us(moment[2])} us` : "") + `, ${size(step[2])}${count > 1 ? " in the step" : ""}` : "no steps";
    get("step").value = now;
    for (const line of get("where").tBodies[0].rows) line.classList.toggle("now", line.dataset.step !== undefined && Number(line.dataset.step) === stepNow());
  };
  const choose = (moment) => { now = Math.max(0, Math.min(moments.length - 1, moment || 0)); draw(); };
  const play = (on) => {
    clearInterval(timer); timer = null;
    get("play").textContent = on ? "Pause" : "Play"; get("play").setAttribute("aria-pressed", String(on));
    if (on) timer = setInterval(() => choose(now + 1 < moments.length ? now + 1 : 0), 700);
  };
  const theme = (dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    get("theme").textContent = dark ? "Light" : "Dark"; get("theme").setAttribute("aria-pressed", String(dark));
    draw(); drawUsed();
  };
  get("title").textContent = document.title = data.title;
  for (const [name, value] of data.facts) {
    const box = element("div"); box.append(element("dt", name), element("dd", value)); get("facts").append(box);
    if (name === "verdict" && value !== "valid") box.lastChild.className = "bad";
  }
  get("fault-key").hidden = !faulty.size;
  get("notes").textContent = data.notes.join(" ");
  get("step").max = Math.max(0, moments.length - 1);
  get("plane").append(element("option", "all")); get("plane").firstChild.value = "all";
  for (const plane of planes) get("plane").append(element("option", String(plane)));
  get("plane-label").hidden = planes.length < 2;
  for (const use of data.used) get("use").append(element("option", use.label));
  if (data.segments.some((segment) => segment.route) || links && (!data.segments.length || layout.levels)) get("colour").value = "load";
  const choice = (value) => [...get("colour").options].find((option) => option.value === value);
  if (layout.shape === "planes") choice("count").textContent = "used or standing by";
  else if (!data.segments.some((segment) => segment.wavelengths)) { choice("count").disabled = true; if (get("colour").value === "count") get("colour").value = "bytes"; }
  if (!(data.segments.some((segment) => segment.route) || links || (layout.shape === "circle" || layout.edges === "loops") && data.segments.some((segment) => segment.direction))) choice("load").disabled = true;
  if (planes.length === 1 && layout.nodes <= 256) get("rows").value = "nodes";
  if (!data.segments.length) { get("draw").value = "data"; get("draw").options[0].disabled = true; if (!links) get("colour").value = "bytes"; get("rows").value = "nodes"; get("rows").options[0].disabled = true; }
  if (!Object.keys(data.transfers).length) get("chunk-section").hidden = true;
  else { get("chunk").max = data.transfers.chunk_hi.reduce((a, b) => Math.max(a, b)) - 1; get("chunk").value = data.transfers.chunk_lo[0]; }
  get("step").addEventListener("input", (event) => { play(false); choose(Number(event.target.value)); });
  for (const [id, to] of [["first", () => 0], ["previous", () => now - 1], ["next", () => now + 1], ["last", () => moments.length - 1]]) get(id).addEventListener("click", () => { play(false); choose(to()); });
  get("play").addEventListener("click", () => play(timer === null));
  get("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme !== "dark"));
  for (const id of ["draw", "colour", "plane", "rows"]) get(id).addEventListener("change", draw);
  get("node").addEventListener("input", draw);
  get("by").addEventListener("change", () => { fillWhere(); draw(); });
  get("use").addEventListener("change", drawUsed);
  get("chunk").addEventListener("input", () => { fillWay(); draw(); });
  get("follow").addEventListener("click", () => { following = !following; get("follow").setAttribute("aria-pressed", String(following)); draw(); });
  get("way").addEventListener("click", (event) => { if (event.target.dataset.moment) choose(Number(event.target.dataset.moment)); });
  get("fabric").addEventListener("mousemove", (event) => {
    const box = event.target.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const hit = hits.find(([u, v, radius]) => Math.hypot(u - x, v - y) <= radius);
    if (!hit) { get("hover").textContent = ""; return; }
    const sending = rowsNow(), own = sending.filter((row) => pairs.src[row] === hit[3]), heard = sending.filter((row) => pairs.dst[row] === hit[3]);
    const sum = (found) => size(found.reduce((total, row) => total + pairs.bytes[row], 0));
    get("hover").textContent = `node ${hit[3]}: sends ${sum(own)} to ${own.length}, receives ${sum(heard)} from ${heard.length} in this ${momentsOf.get(stepNow()) > 1 ? "configuration" : "step"}`;
  });
  get("fabric").addEventListener("click", (event) => {
    const box = event.target.getBoundingClientRect();
    const hit = hits.find(([u, v, radius]) => Math.hypot(u - event.clientX + box.left, v - event.clientY + box.top) <= radius);
    get("node").value = hit ? hit[3] : ""; draw();
  });
  get("time").addEventListener("click", (event) => {
    const box = event.target.getBoundingClientRect(), ps = (event.clientX - box.left - 46) / (box.width - 54) * end;
    const at = moments.findIndex((moment) => moment[2] >= ps);
    if (at >= 0) choose(at);
  });
  document.addEventListener("keydown", (event) => {
    if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) return;
    const to = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: moments.length - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); play(false); choose(to); }
    if (event.key === " " && event.target.tagName !== "BUTTON") { event.preventDefault(); play(timer === null); }
    if (event.key === "d" || event.key === "D") theme(document.documentElement.dataset.theme !== "dark");
  });
  window.addEventListener("resize", () => { draw(); drawUsed(); });
  fillWhere(); fillWay(); fillVerdict();
  theme(window.matchMedia("(prefers-color-scheme: dark)").matches);
})();
