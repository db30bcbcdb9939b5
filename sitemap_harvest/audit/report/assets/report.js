"use strict";

(() => {
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const one = (id) => document.getElementById(id);

  function enableTheme() {
    const button = one("theme");
    if (!button) return;
    const themes = ["system", "light", "dark"];
    const set = (theme) => {
      button.lastElementChild.textContent = theme;
      if (theme === "system") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = theme;
    };
    let stored = null;
    try { stored = localStorage.getItem("theme"); } catch { /* not every browser stores anything for a file */ }
    set(themes.includes(stored) ? stored : "system");
    button.hidden = false;
    button.addEventListener("click", () => {
      const current = document.documentElement.dataset.theme ?? "system";
      const next = themes[(themes.indexOf(current) + 1) % themes.length];
      set(next);
      try { localStorage.setItem("theme", next); } catch { /* as above */ }
    });
  }

  /* Put the text of *cell* into a button in it. */
  function buttonIn(cell) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...cell.childNodes);
    cell.append(button);
    return button;
  }

  function enableSorting(table) {
    const heads = all("thead th[data-key]", table);
    for (const head of heads) {
      buttonIn(head).addEventListener("click", () => {
        const key = head.dataset.key;
        const isNumber = key !== "name";
        const wasSorted = head.getAttribute("aria-sort");
        const first = head.classList.contains("num") ? "descending" : "ascending";
        const order = wasSorted ? (wasSorted === "ascending" ? "descending" : "ascending") : first;
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const value = (row) => isNumber ? Number(row.dataset[key]) : row.dataset[key];
        const rows = all("tbody[data-name]", table);
        rows.sort((a, b) => {
          const [x, y] = [value(a), value(b)];
          return x === y ? a.dataset.name.localeCompare(b.dataset.name) : (x < y ? -sign : sign);
        });
        table.append(...rows);
      });
    }
  }

  function enableFindings() {
    const table = one("rules");
    if (!table) return;
    const rules = all("tbody", table);
    const form = one("filter");
    const openAll = one("all");
    const open = (rule, isOpen) => {
      rule.querySelector("button").setAttribute("aria-expanded", isOpen);
      rule.querySelector(".extra").hidden = !isOpen;
    };
    for (const rule of rules) {
      const title = rule.querySelector(".title");
      const button = document.createElement("button");
      button.type = "button";
      button.className = title.className;
      button.append(...title.childNodes);
      title.replaceWith(button);
      open(rule, false);
      button.addEventListener("click", () => open(rule, button.getAttribute("aria-expanded") !== "true"));
    }
    openAll.addEventListener("click", () => {
      const isOpen = openAll.getAttribute("aria-expanded") !== "true";
      openAll.setAttribute("aria-expanded", isOpen);
      openAll.textContent = isOpen ? "Close all" : "Open all";
      for (const rule of rules) open(rule, isOpen);
    });
    const texts = new Map(rules.map((rule) => [rule, rule.textContent.toLowerCase()]));
    const names = ["error", "warning", "notice"];
    const filter = () => {
      const words = form.text.value.toLowerCase().split(/\s+/);
      let shown = 0;
      for (const rule of rules) {
        const isShown = form[names[rule.dataset.severity]].checked && words.every((word) => texts.get(rule).includes(word));
        rule.hidden = !isShown;
        shown += isShown;
      }
      one("shown").textContent = shown === rules.length ? "" : `${shown} of ${rules.length} rules`;
    };
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    for (const link of all("a[data-only]")) {
      link.addEventListener("click", () => {
        for (const name of names) form[name].checked = name === link.dataset.only;
        form.text.value = "";
        filter();
      });
    }
    const follow = () => {
      const rule = rules.find((each) => `#${each.id}` === location.hash);
      if (!rule) return;
      for (const name of names) form[name].checked = true;
      form.text.value = "";
      filter();
      open(rule, true);
      rule.scrollIntoView();
    };
    addEventListener("hashchange", follow);
    enableSorting(table);
    follow();
  }

  function enableTree() {
    const tree = one("tree");
    if (!tree) return;
    const rows = all("tbody tr", tree);
    const show = () => {
      let closed = Infinity;
      for (const row of rows) {
        const level = Number(row.dataset.level);
        row.hidden = level > closed;
        if (level <= closed) closed = row.querySelector("button")?.getAttribute("aria-expanded") === "false" ? level : Infinity;
      }
    };
    for (const row of rows.filter((each) => each.dataset.children)) {
      const button = document.createElement("button");
      const isOpen = rows.length <= 100 || Number(row.dataset.children) <= 20;
      button.type = "button";
      button.setAttribute("aria-label", `Documents below ${row.querySelector(".url").textContent}`);
      button.setAttribute("aria-expanded", isOpen);
      button.addEventListener("click", () => {
        button.setAttribute("aria-expanded", button.getAttribute("aria-expanded") !== "true");
        show();
      });
      row.querySelector("th").prepend(button);
    }
    show();
  }

  /* Return round values for an axis from *low* to *high*, at most 0 and at least 0. */
  function ticks(low, high) {
    const rough = Math.max((high - low) / 4, 1);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
    const first = Math.floor(low / step);
    return Array.from({ length: Math.ceil(high / step) - first + 1 }, (_, at) => (first + at) * step);
  }

  function draw(figure) {
    const plot = figure.querySelector(".plot");
    const rows = all("tbody tr", figure);
    const names = all("thead th", figure).slice(1).map((cell) => cell.textContent);
    const kind = figure.dataset.chart;
    const value = (cell) => cell?.dataset.value === undefined ? null : Number(cell.dataset.value);
    const labels = rows.map((row) => row.cells[0].textContent);
    const series = names.map((_, at) => rows.map((row) => value(row.cells[at + 1])));
    if (kind === "updown") series[1] = series[1].map((each) => each && -each);
    const numbers = series.flat().filter((each) => each !== null);
    const marks = ticks(Math.min(0, ...numbers), Math.max(0, ...numbers));
    if (marks.length < 2) return;  /* there is nothing but zeros */
    plot.hidden = false;
    const step = () => Math.ceil(labels.length / Math.max(2, Math.floor(plot.clientWidth / 90)));
    const compact = new Intl.NumberFormat("en", { notation: "compact" });
    const options = {
      height: "100%",
      width: "100%",
      fullWidth: kind === "line",
      chartPadding: { top: 12, right: kind === "line" ? 72 : 24, bottom: 0, left: 4 },
      axisX: { showGrid: false, offset: 24, labelInterpolationFnc: (label, at) => at % step() ? null : label.split(" ")[0] },
      axisY: { type: Chartist.FixedScaleAxis, ticks: marks, low: marks[0], high: marks.at(-1), offset: 48, labelInterpolationFnc: (label) => compact.format(Math.abs(label)) },
      showArea: kind === "line",
      lineSmooth: false,
      stackBars: kind === "updown",
      stackMode: "accumulate-relative",
    };
    const Chart = kind === "line" ? Chartist.LineChart : Chartist.BarChart;
    const chart = new Chart(plot, { labels, series }, options);
    chart.on("draw", (event) => {
      if (event.type !== "bar" && event.type !== "point") return;
      const count = value(rows[event.index].cells[event.seriesIndex + 1]);
      event.element.elem("title").text(`${labels[event.index]}: ${count.toLocaleString("en")} ${names[event.seriesIndex]}`);
      if (event.type === "bar") {
        const width = Math.max(1.5, Math.min(44, (event.axisX.axisLength / labels.length) * 0.72));
        event.element.attr({ "stroke-width": width });
      }
    });
    chart.on("created", (event) => {  /* so that it fits on paper */
      const { width, height } = event.svg.getNode().getBoundingClientRect();
      event.svg.attr({ viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "xMinYMin meet", "aria-hidden": "true" });
    });
  }

  enableTheme();
  enableFindings();
  enableTree();
  if (one("sites")) enableSorting(one("sites"));
  all("[data-chart]").forEach(draw);
})();
