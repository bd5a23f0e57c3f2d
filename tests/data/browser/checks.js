"use strict";
// Runs inside report.html, as a reader would use it, and tells the page around it what it found, as JSON.
// tests/integration/report_page.cpp holds the figures against the records.

(async () => {
  const found = {errors: page_errors, drawer: has_plotly() ? "plotly" : "svg", charts: {}};
  const wait = () => new Promise(done => setTimeout(done, 30));
  const texts = nodes => [...nodes].map(node => node.textContent);

  // What is in the picture: plotly's own copy of the figures and the shapes that it drew, or the shapes alone.
  const picture = id => {
    const place = by_id(id);
    if (!place.chart || place.querySelector(".hint")) return null;
    const kept = name => place.data && place.data.find(trace => trace.name === name);
    const marks = has_plotly() ? kept("marks") : place.chart.marks && {x: place.chart.marks.map(mark => mark.x), y: place.chart.marks.map(mark => mark.y)};
    const bars = has_plotly() ? kept("bars") : place.chart.bars && {x: place.chart.bars.map(bar => bar.to - bar.from)};
    const shapes = has_plotly() ? [...place.querySelectorAll(".trace.scatter")].map(trace => trace.querySelectorAll(".point").length).reduce((a, b) => a + b, 0)
      : place.querySelectorAll(".mark > g").length;
    return {x: marks ? [...marks.x] : [], y: marks ? [...marks.y] : [], shapes, bars: bars ? [...bars.x] : [],
      bar_shapes: place.querySelectorAll(has_plotly() ? ".trace.bars .point" : ".segment").length,
      width: place.querySelector("svg").getBoundingClientRect().width, room: place.clientWidth};
  };
  const key = (node, name) => node.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
  const sorted_column = (id, at) => texts(document.querySelectorAll(`#${id} tbody tr td:nth-child(${at + 1})`));

  try {
    draw_stale(true);
    await wait();
    for (const id of ["roofline", "throughput", "kernels", "phases", "cache", "bytes", "samples", "history"]) found.charts[id] = picture(id);
    found.title = document.title;
    found.scripts = document.querySelectorAll("script").length;
    found.resources = performance.getEntriesByType("resource").map(entry => entry.name);
    found.pwned = typeof pwned !== "undefined";
    found.overflow = document.documentElement.scrollWidth - innerWidth;
    found.too_wide = [...document.querySelectorAll("main *, header *")].filter(node => !node.closest(".scroll, .choices, .chart")
      && node.getBoundingClientRect().right > innerWidth + 1).map(node => `${node.tagName} ${node.id} ${node.className}`).slice(0, 5);
    found.names = cases.map(one => one.name);
    found.sections = [...document.querySelectorAll("main > section")].filter(node => !node.hidden).map(node => node.id);

    // Every twin opens and holds its rows.
    found.twins = {};
    for (const fold of document.querySelectorAll("details.twin")) {
      if (fold.hidden || fold.closest("section").hidden) continue;
      fold.open = true;
      await wait();
      const place = fold.querySelector("div");
      found.twins[place.id] = {rows: place.querySelectorAll("tbody tr").length, csv: place.csv()};
      fold.open = false;
    }

    // Sorting, by its button, both ways.
    const sort_by = async (id, head) => {
      [...by_id(id).querySelectorAll("thead button")].find(button => button.textContent.startsWith(head)).click();
      await wait();
    };
    if (column_of.has("flops")) { // a column that is the same in all cases is not in the table
      await sort_by("cases", "work");
      found.sorted_down = by_id("cases").csv();
      found.sort_mark = document.querySelector("#cases th[aria-sort]").getAttribute("aria-sort");
      await sort_by("cases", "work");
      found.sorted_up = sorted_column("cases", 0);
    }

    // Filters: a box of a facet, then words, then all again.
    if (facets.some(facet => facet.name === "plan")) {
      by_id("facet-plan").querySelector("input[name=eager]").click();
      draw_stale(true);
      await wait();
      found.without_eager = {roofline: picture("roofline"), rows: by_id("cases").querySelectorAll("tbody tr").length, said: by_id("filter-count").textContent};
      by_id("filter").value = "sandwich";
      by_id("filter").dispatchEvent(new Event("input"));
      await wait();
      draw_stale(true);
      await wait();
      found.words_too = {rows: by_id("cases").querySelectorAll("tbody tr").length, roofline: picture("roofline")};
      by_id("filter").value = "nothing has this name";
      by_id("filter").dispatchEvent(new Event("input"));
      await wait();
      draw_stale(true);
      await wait();
      found.nothing = {rows: by_id("cases").querySelectorAll("tbody tr").length, said: by_id("throughput").textContent};
      by_id("filter-reset").click();
      draw_stale(true);
      await wait();
      found.all_again = picture("roofline");
    }

    // Keys: the first mark of the roofline, the second, and its launches.
    const chart = by_id("roofline");
    if (picture("roofline")) {
      const first = has_plotly() ? chart : chart.querySelector(".mark");
      first.focus();
      key(first, "ArrowRight");
      await wait();
      key(document.activeElement, "ArrowRight");
      await wait();
      const spot = document.activeElement;
      found.tooltip = has_plotly() ? by_id("tooltip").hidden ? "" : by_id("tooltip").textContent : spot.getAttribute("aria-label");
      key(spot, "Enter");
      draw_stale(true);
      await wait();
      found.selected = state.selected === null ? null : cases[state.selected].name;
      found.launches = by_id("launches") ? by_id("launches").querySelectorAll("tbody tr").length : 0;
      found.with_launches = picture("roofline");
      key(document.body, "Escape");
      draw_stale(true);
      await wait();
      found.closed = state.selected === null;
    }

    // Paper: every chart is there and fits.
    dispatchEvent(new Event("beforeprint"));
    await wait();
    found.paper = {light: document.documentElement.classList.contains("on-paper"), width: picture("roofline") ? picture("roofline").width : null};
    dispatchEvent(new Event("afterprint"));
    await wait();
  } catch (fault) {
    found.errors.push(`checks.js: ${fault.stack}`);
  }
  // The frame around the page keeps it; markup characters are escaped so that its text is the same in the source.
  parent.postMessage(JSON.stringify(found).replace(/[<>&]/g, each => "\\u00" + each.charCodeAt(0).toString(16)), "*");
})();
