"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = document.querySelector(".theme");
  theme.addEventListener("click", () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  });

  // Figures as people read them: three digits that matter.
  const digits = (v) => {
    if (v === 0) return "0";
    const d = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(v))));
    return v.toLocaleString("en", { minimumFractionDigits: 0, maximumFractionDigits: Math.min(d, 6) });
  };
  const steps = (v, names, by) => {
    let i = 0;
    while (Math.abs(v) >= by * 0.9995 && i < names.length - 1) { v /= by; i++; }
    return digits(v) + names[i];
  };
  const show = (v, kind) => {
    if (v === null || v === undefined) return "n/a";
    switch (kind) {
      case "ns": return steps(v, [" ns", " µs", " ms", " s"], 1000);
      case "1/s": return steps(v, ["/s", "k/s", "M/s"], 1000);
      case "bit/s": return steps(v, [" bit/s", " kbit/s", " Mbit/s", " Gbit/s"], 1000);
      case "J": return steps(v * 1e6, [" µJ", " mJ", " J"], 1000);
      case "bytes": return steps(v, [" B", " KiB", " MiB", " GiB"], 1024);
      case "share": return digits(v * 100) + " %";
      case "percentile": return "p" + +(v * 100).toFixed(v < 1 ? Math.min(6, Math.ceil(-Math.log10(1 - v))) : 0);
      case "s": return digits(v) + " s";
      default: return digits(v);
    }
  };
  const csv = (rows) => rows.map((row) => row.map((cell) => {
    const text = cell === null || cell === undefined ? "" : String(cell);
    return /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  }).join(",")).join("\n") + "\n";

  const copy = async (text, button) => {
    const said = button.textContent;
    let ok = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Files on disk are no secure place for some browsers.
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      ok = document.execCommand("copy");
      area.remove();
    }
    button.textContent = ok ? "Copied" : "Not copied";
    setTimeout(() => { button.textContent = said; }, 1500);
  };
  const copied = (table) => csv([...table.rows].map((row) =>
    [...row.cells].map((cell) => cell.dataset.v ?? cell.textContent)));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.copy");
    if (button) copy(copied(button.parentElement.querySelector("table")), button);
  });

  // Tables and pictures as files, named by what stands above them.
  const save = (data, title, ending) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(data);
    link.download = "uaperf-" + title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") + ending;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const saver = (text, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "save";
    button.textContent = text;
    button.addEventListener("click", act);
    return button;
  };
  const titled = (table) => table.getAttribute("aria-label") || table.closest("figure").querySelector("h3").textContent;
  const savable = (table, copier) => copier.before(saver("Save as CSV", () =>
    save(new Blob([copied(table)], { type: "text/csv" }), titled(table), ".csv")));
  document.querySelectorAll("div.table > button.copy").forEach((it) => savable(it.parentElement.querySelector("table"), it));

  // A picture by itself has no style sheet: what it says of each line and text goes along.
  const STYLED = ["fill", "stroke", "stroke-width", "stroke-linejoin", "stroke-linecap", "stroke-dasharray", "opacity",
    "font-family", "font-size", "text-anchor", "paint-order", "display"];
  const alone = (svg) => {
    const picture = svg.cloneNode(true);
    const { width, height } = svg.viewBox.baseVal;
    const all = [svg, ...svg.querySelectorAll("*")];
    [picture, ...picture.querySelectorAll("*")].forEach((it, i) => {
      const style = getComputedStyle(all[i]);
      for (const name of STYLED) it.style.setProperty(name, style.getPropertyValue(name));
    });
    picture.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    picture.setAttribute("width", width);
    picture.setAttribute("height", height);
    picture.style.display = "block";
    picture.style.background = getComputedStyle(document.body).backgroundColor;
    return [new XMLSerializer().serializeToString(picture), width, height];
  };
  for (const figure of document.querySelectorAll("figure.chart")) {
    const title = figure.querySelector("h3").textContent;
    const shown = () => [...figure.querySelectorAll("svg")].find((it) => it.clientWidth > 0);
    const row = document.createElement("p");
    row.className = "saves";
    row.append(
      saver("SVG", () => save(new Blob([alone(shown())[0]], { type: "image/svg+xml" }), title, ".svg")),
      saver("PNG", () => {
        const [text, width, height] = alone(shown());
        const image = new Image();
        image.onload = () => {
          const canvas = document.createElement("canvas");
          // Twice as fine, for print.
          canvas.width = 2 * width;
          canvas.height = 2 * height;
          canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
          canvas.toBlob((data) => save(data, title, ".png"));
        };
        image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
      }),
    );
    figure.querySelector(".picture")?.after(row);
  }

  // A click on the head of a column puts the rows in its order: up, down, as they were.
  const figure = (cell) => {
    const raw = cell.dataset.v ?? cell.textContent;
    return raw === "" || Number.isNaN(Number(raw)) ? raw : Number(raw);
  };
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  };
  const sortable = (table) => {
    const body = table.tBodies[0];
    if (!table.tHead || !body || body.rows.length < 3) return;
    const rows = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const order = { none: "ascending", ascending: "descending", descending: "none" }[head.ariaSort || "none"];
        for (const other of heads) other.removeAttribute("aria-sort");
        const sign = order === "descending" ? -1 : 1;
        const value = (row) => figure(row.cells[column] || { dataset: {}, textContent: "" });
        // What is not known comes last either way.
        const by = (a, b) => (value(a) === "" || value(b) === "" ? 1 : sign) * compare(value(a), value(b));
        if (order !== "none") head.setAttribute("aria-sort", order);
        body.append(...(order === "none" ? rows : [...rows].sort(by)));
      });
    });
  };
  document.querySelectorAll("table").forEach(sortable);

  const bend = (axis, v) => {
    if (axis.s === "Log") return Math.log(Math.max(v, Number.MIN_VALUE));
    if (axis.s === "Nines") return -Math.log10(Math.max(1 - v, 1e-12));
    return v;
  };
  const at = (axis, v) => (bend(axis, v) - bend(axis, axis.a)) / (bend(axis, axis.b) - bend(axis, axis.a));

  for (const figure of document.querySelectorAll("figure.chart")) {
    const source = figure.querySelector("script.values");
    if (!source) continue;
    const data = JSON.parse(source.textContent);
    let before = [];
    for (const series of data.s) {
      if (series.x === 0) series.x = before;
      before = series.x;
    }
    const off = new Set();
    for (const button of figure.querySelectorAll("[data-layer][aria-pressed]")) {
      const layer = button.dataset.layer;
      if (button.getAttribute("aria-pressed") === "false") off.add(layer);
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(on));
        if (on) off.delete(layer); else off.add(layer);
        for (const g of figure.querySelectorAll("g.series")) {
          if (g.dataset.layer === layer) g.toggleAttribute("hidden", !on);
        }
      });
    }
    const seen = () => data.s.filter((series) => !off.has(series.l));
    // All places where something was measured, in order.
    const places = () => [...new Set(seen().flatMap((series) => series.x))].sort((a, b) => a - b);
    // One drawing for a wide window and one for a narrow one: values are read off either.
    const output = figure.querySelector("output");
    for (const svg of figure.querySelectorAll("svg")) {
      const cursor = svg.querySelector(".cursor");
      const [left, right, top, bottom] = svg.dataset.box.split(",").map(Number);
      const nearest = (xs, pixel) => {
        let best = 0;
        for (let i = 1; i < xs.length; i++) {
          const far = (k) => Math.abs(left + at(data.x, xs[k]) * (right - left) - pixel);
          if (far(i) < far(best)) best = i;
        }
        return best;
      };
      let index = -1;
      const read = (xs, i) => {
        index = i;
        const x = xs[i];
        if (x === undefined) return;
        const pixel = left + at(data.x, x) * (right - left);
        cursor.setAttribute("d", `M${pixel} ${top}V${bottom}`);
        const lines = [show(x, data.x.k) + (data.x.k === "count" ? " " + data.x.of : "")];
        for (const series of seen()) {
          let k = series.x.indexOf(x);
          if (k < 0 && series.x.length > 20) k = nearest(series.x, pixel);
          if (k < 0 || series.y[k] === null) continue;
          let line = series.n + "  " + show(series.y[k], data.y.k);
          if (series.lo && series.lo[k] !== null) {
            line += `  (${show(series.lo[k], data.y.k)} to ${show(series.hi[k], data.y.k)})`;
          }
          lines.push(line);
        }
        output.textContent = lines.join("\n");
        const scale = svg.clientWidth / svg.viewBox.baseVal.width;
        const place = pixel * scale;
        const width = output.offsetWidth;
        output.style.left = (place + 14 + width > svg.clientWidth ? Math.max(0, place - 14 - width) : place + 14) + "px";
      };
      const leave = () => {
        cursor.setAttribute("d", "");
        output.textContent = "";
        index = -1;
      };
      svg.addEventListener("pointermove", (event) => {
        const box = svg.getBoundingClientRect();
        const xs = places();
        read(xs, nearest(xs, (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width));
      });
      svg.addEventListener("pointerleave", leave);
      svg.addEventListener("blur", leave);
      svg.addEventListener("keydown", (event) => {
        const xs = places();
        const step = { ArrowRight: 1, ArrowLeft: -1, PageUp: -10, PageDown: 10 }[event.key];
        let to = step ? index + step : { Home: 0, End: xs.length - 1 }[event.key];
        if (event.key === "Escape") return leave();
        if (to === undefined) return;
        event.preventDefault();
        read(xs, Math.max(0, Math.min(xs.length - 1, to)));
      });
    }

    // The table is made when somebody wants to see it.
    const details = figure.querySelector("details.data");
    details.addEventListener("toggle", () => {
      const holder = details.querySelector(".table");
      if (!details.open || holder.firstChild) return;
      const xs = [...new Set(data.s.flatMap((series) => series.x))].sort((a, b) => a - b);
      const table = document.createElement("table");
      const row = (into, cells, head) => {
        const tr = into.insertRow();
        cells.forEach(([text, raw], i) => {
          const cell = document.createElement(head || i === 0 ? "th" : "td");
          cell.scope = head ? "col" : "row";
          cell.className = "n";
          cell.textContent = text;
          cell.dataset.v = raw ?? "";
          tr.append(cell);
        });
      };
      const heads = [[data.x.of, `${data.x.of} (${data.x.k})`]];
      const columns = [];
      for (const series of data.s) {
        const column = (name, values) => {
          heads.push([name, `${name} (${data.y.k})`]);
          columns.push(new Map(series.x.map((x, i) => [x, values[i]])));
        };
        column(series.n, series.y);
        if (series.lo) { column(series.n + " low", series.lo); column(series.n + " high", series.hi); }
      }
      row(table.createTHead(), heads, true);
      const body = table.createTBody();
      for (const x of xs) {
        row(body, [[show(x, data.x.k), x], ...columns.map((map) => {
          const v = map.get(x);
          return v === undefined || v === null ? ["", ""] : [show(v, data.y.k), v];
        })]);
      }
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy as CSV";
      holder.append(table, button);
      savable(table, button);
      sortable(table);
    });
  }
})();
