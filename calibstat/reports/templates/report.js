"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Tables: a button in each header cell sorts up, down, and as it was.

  const numberOf = (cell) => (cell.dataset.value === undefined ? null : Number(cell.dataset.value));
  const turns = { none: "ascending", ascending: "descending", descending: "none" };

  const compare = (a, b) => {
    const [x, y] = [numberOf(a), numberOf(b)];
    if (x !== null && y !== null) return x - y;
    return a.textContent.localeCompare(b.textContent, "en", { numeric: true });
  };

  const sort = (table, rows, place, order) => {
    const sorted = [...rows];
    if (order !== "none") {
      const numbers = rows.some((row) => numberOf(row.cells[place]) !== null);
      const missing = (row) => numbers && numberOf(row.cells[place]) === null; // these come last, up and down
      const sign = order === "ascending" ? 1 : -1;
      sorted.sort((a, b) => missing(a) - missing(b) || sign * compare(a.cells[place], b.cells[place]));
    }
    table.tBodies[0].append(...sorted);
  };

  for (const table of all("table")) {
    const rows = [...table.tBodies[0].rows];
    const heads = [...table.tHead.rows[0].cells];
    if (rows.length < 2) continue;
    heads.forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const order = turns[head.getAttribute("aria-sort")];
        for (const each of heads) each.setAttribute("aria-sort", each === head ? order : "none");
        sort(table, rows, place, order);
      });
    });
  }

  // What can be scrolled is reached by the keyboard; what need not be, is not.

  const reach = () => {
    for (const each of all(".scroll, pre")) {
      if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
      else each.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", reach);

  // Lenses: what is of one lens is shown, or all of it; the address remembers which.

  const switched = document.getElementById("lens");

  const hideEmpty = (groups, parts) => {
    for (const group of groups) {
      const inside = all(parts, group);
      if (inside.length > 0) group.classList.toggle("off", inside.every((each) => each.classList.contains("off")));
    }
  };

  const show = (lens) => {
    switched.value = lens;
    for (const each of all("[data-lens]")) each.classList.toggle("off", lens !== "all" && each.dataset.lens !== lens);
    for (const each of all("[data-answer]")) each.hidden = each.dataset.answer !== (lens === "all" ? "0" : lens);
    hideEmpty(all(".block.table"), "tr[data-lens]");
    hideEmpty(all("main > section, .pictures"), ".block");
    for (const link of all("nav a")) {
      link.classList.toggle("off", document.getElementById(link.hash.slice(1)).classList.contains("off"));
    }
    reach();
  };

  const addressOf = (option) => `#lens=${encodeURIComponent(option.textContent)}`;
  const fromAddress = () => [...switched.options].find((option) => addressOf(option) === location.hash)?.value;

  if (switched) {
    switched.addEventListener("change", () => {
      show(switched.value);
      history.replaceState(null, "", addressOf(switched.selectedOptions[0]));
    });
    switched.parentElement.hidden = false;
    show(fromAddress() ?? "all");
    addEventListener("hashchange", () => fromAddress() && show(fromAddress()));
  }
  reach();

  // The tetrahedron: places in space are turned about the upright axis, then towards the reader.

  const steps = { left: [1, 0], right: [-1, 0], up: [0, 1], down: [0, -1] };

  for (const figure of all(".turns")) {
    const picture = figure.querySelector("svg");
    const parts = all("[data-at]", picture).map((element) => [element, element.dataset.at.split(" ").map(Number)]);
    const names = { line: [["x1", "y1"], ["x2", "y2"]], circle: [["cx", "cy"]], text: [["x", "y"]] };
    let [yaw, pitch] = [Number(figure.dataset.yaw), Number(figure.dataset.pitch)];

    const seen = ([x, y, z]) => {
      const across = x * Math.cos(yaw) + z * Math.sin(yaw);
      const away = z * Math.cos(yaw) - x * Math.sin(yaw);
      const down = away * Math.sin(pitch) - y * Math.cos(pitch);
      return [across, down, away * Math.cos(pitch) + y * Math.sin(pitch)];
    };
    const draw = () => {
      for (const [element, at] of parts) {
        let away = 0;
        names[element.tagName].forEach(([across, down], k, ends) => {
          const place = seen(at.slice(3 * k, 3 * k + 3));
          element.setAttribute(across, place[0].toFixed(4));
          element.setAttribute(down, place[1].toFixed(4));
          away += place[2] / ends.length;
        });
        if (element.tagName !== "text") element.setAttribute("opacity", (0.65 - 0.35 * away).toFixed(2));
      }
    };
    const turn = (about, towards) => {
      yaw += about;
      pitch = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, pitch + towards));
      draw();
    };

    figure.querySelector(".buttons").hidden = false;
    for (const button of all("[data-turn]", figure)) {
      button.addEventListener("click", () => turn(...steps[button.dataset.turn].map((each) => 0.2 * each)));
    }
    picture.tabIndex = 0;
    picture.addEventListener("keydown", (event) => {
      const step = steps[event.key.replace("Arrow", "").toLowerCase()];
      if (!step || !event.key.startsWith("Arrow")) return;
      event.preventDefault();
      turn(0.1 * step[0], 0.1 * step[1]);
    });
    picture.addEventListener("pointerdown", (event) => picture.setPointerCapture(event.pointerId));
    picture.addEventListener("pointermove", (event) => {
      if (picture.hasPointerCapture(event.pointerId)) turn(-event.movementX / 150, -event.movementY / 150);
    });
  }
})();
