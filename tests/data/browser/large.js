"use strict";
// Runs inside report.html with thousands of cases: how often each section looks at a case, and what it draws.

(() => {
  const found = {errors: page_errors, cases: cases.length, looks: {}, notes: {}};
  try {
    const look = value;
    let looks = 0;
    value = (...which) => { ++looks; return look(...which); };
    for (const one of sections) {
      looks = 0;
      one.draw();
      found.looks[one.id] = looks / cases.length;
    }
    looks = 0;
    state.words = "fused";
    render();
    found.looks.filter = looks / cases.length;
    for (const id of ["phases-note", "cache-note", "bytes-note", "kernels-note"]) found.notes[id] = by_id(id).textContent;
    state.words = "";
    render();
    for (const fold of document.querySelectorAll("details.twin")) fold.open = true;
    for (const one of sections) one.draw(); // with every table beside its chart
    found.rows = Math.max(...[...document.querySelectorAll("table")].map(table => table.tBodies[0].rows.length));
    found.elements = document.querySelectorAll("*").length;
    found.resources = performance.getEntriesByType("resource").map(entry => entry.name);
    found.pwned = typeof pwned !== "undefined";
  } catch (fault) {
    found.errors.push(`large.js: ${fault.stack}`);
  }
  parent.postMessage(JSON.stringify(found).replace(/[<>&]/g, each => "\\u00" + each.charCodeAt(0).toString(16)), "*");
})();
