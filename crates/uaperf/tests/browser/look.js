// Opens a page without network, uses it as a person would, and says what was there as JSON.
//
//   node look.js BROWSER PAGE [FOLDER FOR PICTURES]
"use strict";
const { chromium } = require("playwright-core");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

const [browserPath, file, pictures] = process.argv.slice(2);

(async () => {
  const browser = await chromium.launch({
    executablePath: browserPath,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
  const found = { console: [], requests: [] };
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, colorScheme: "light" });
  await context.setOffline(true);
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) found.console.push(message.text());
  });
  page.on("pageerror", (error) => found.console.push(String(error)));
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) found.requests.push(request.url());
  });
  const shot = async (name, fullPage = true) => {
    if (pictures) await page.screenshot({ path: path.join(pictures, name + ".png"), fullPage });
  };
  await page.goto(pathToFileURL(file).href);
  found.loaded_ms = await page.evaluate(() => {
    const [entry] = performance.getEntriesByType("navigation");
    return Math.round(entry.loadEventEnd - entry.startTime);
  });
  found.title = await page.title();
  found.first = await page.locator("main section").first().innerText();
  found.landmarks = await page.evaluate(() =>
    ["header", "main", "footer"].map((it) => document.querySelectorAll("body > " + it).length));
  found.charts = await page.evaluate(() => [...document.querySelectorAll("figure.chart")].map((figure) => {
    // The first drawing is for wide windows.
    const svg = figure.querySelector("svg");
    return {
      title: figure.querySelector("h3").textContent,
      told: svg.getAttribute("role") === "img" && Boolean(svg.querySelector("desc") || svg.getAttribute("aria-label")),
      lines: [...svg.querySelectorAll(".series path.line, .series path.fill, .span path.line")]
        .filter((path) => path.getAttribute("d").length > 4 && (getComputedStyle(path).stroke !== "none" || getComputedStyle(path).fill !== "none")).length,
      bars: [...svg.querySelectorAll(".bar rect")]
        .filter((bar) => bar.getBoundingClientRect().width > 0 && getComputedStyle(bar).fill !== "none").length,
      marks: svg.querySelectorAll("circle").length,
      broken: [...figure.querySelectorAll("svg")].some((it) => /NaN|Infinity/.test(it.outerHTML)),
      texts: [...svg.querySelectorAll("text")].map((it) => it.textContent),
    };
  }));
  // Each entry of the list of contents leads somewhere, and each word of a verdict is explained.
  found.contents = await page.evaluate(() => [...document.querySelectorAll("a[href^='#']")]
    .map((it) => [it.textContent, Boolean(document.getElementById(it.getAttribute("href").slice(1)))]));
  await shot("light");

  // A layer off and on again.
  const layered = page.locator("figure.chart:has([data-layer][aria-pressed])");
  if (await layered.count() > 0) {
    const chart = layered.first();
    const seen = () => chart.evaluate((figure) =>
      [...figure.querySelectorAll("svg.wide g.series")].map((g) => !g.hasAttribute("hidden") && getComputedStyle(g).display !== "none"));
    const button = chart.locator("button[data-layer]").first();
    found.layers = [await seen()];
    await button.click();
    found.layers.push(await seen());
    found.pressed = await button.getAttribute("aria-pressed");
    await button.click();
    found.layers.push(await seen());

    // Values read off: with the pointer, and with the keys.
    const svg = chart.locator("svg.wide");
    await svg.scrollIntoViewIfNeeded();
    const box = await svg.boundingBox();
    await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2);
    found.pointer = await chart.locator("output").innerText();
    await shot("pointer", false);
    await page.mouse.move(0, 0);
    await svg.focus();
    await page.keyboard.press("End");
    const end = await chart.locator("output").innerText();
    await page.keyboard.press("Home");
    found.keys = [await chart.locator("output").innerText(), end];
    await page.keyboard.press("Escape");

    // A picture and a table as files.
    found.saved = {};
    for (const [kind, button] of [
      ["svg", chart.getByRole("button", { name: "SVG", exact: true })],
      ["png", chart.getByRole("button", { name: "PNG", exact: true })],
      ["csv", page.locator("div.table > button.save:visible").first()],
    ]) {
      const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
      const data = require("node:fs").readFileSync(await download.path());
      found.saved[kind] = [download.suggestedFilename(), data.length, data.subarray(0, 4).toString("latin1")];
      if (kind === "svg") found.saved.alone = !/var\(|class="cursor" d="M/.test(data.toString());
    }

    // The data behind a chart, and a table as CSV.
    await chart.locator("details summary").click();
    // The table is made when it is first looked at.
    await chart.locator("details table tr").first().waitFor();
    found.rows = await chart.locator("details table tr").count();
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const copy = chart.locator("button.copy");
    await copy.click();
    await chart.getByText("Copied").waitFor();
    found.csv = await page.evaluate(() => navigator.clipboard.readText());
    await chart.locator("details summary").click();
    await page.locator("div.table > button.copy:visible").first().click();
    await page.locator("div.table > button.copy:visible", { hasText: "Copied" }).waitFor();
    found.table = await page.evaluate(() => navigator.clipboard.readText());
  }

  // A table in the order of its last column: up, down, as it was.
  const long = page.locator("section div.table:visible:has(tbody tr:nth-child(3))");
  if (await long.count() > 0) {
    const table = long.first();
    const column = () => table.evaluate((it) => [...it.querySelectorAll("tbody tr")].map((row) => {
      const cell = row.cells[row.cells.length - 1];
      return cell.dataset.v ?? cell.textContent;
    }));
    const head = table.locator("thead th").last();
    found.sorted = [await column()];
    for (let i = 0; i < 3; i++) {
      await head.locator("button").click();
      found.sorted.push([await head.getAttribute("aria-sort"), await column()]);
    }
  }

  // Light and dark, by switch and by preference.
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  found.paper = [await paper()];
  await page.locator("button.theme").click();
  found.paper.push(await paper());
  await shot("dark");
  await page.locator("button.theme").click();
  found.paper.push(await paper());
  const other = await browser.newContext({ viewport: { width: 390, height: 844 }, colorScheme: "dark", offline: true });
  const narrow = await other.newPage();
  await narrow.goto(pathToFileURL(file).href);
  found.paper.push(await narrow.evaluate(() => getComputedStyle(document.body).backgroundColor));
  found.narrow = await narrow.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  // Charts are drawn for the width, not cut.
  found.cut = await narrow.evaluate(() => [...document.querySelectorAll("figure.chart:has(svg.narrow) .picture")]
    .filter((it) => it.scrollWidth > it.clientWidth || it.querySelector("svg.narrow").clientWidth === 0).length);
  if (pictures) {
    await narrow.emulateMedia({ colorScheme: "light" });
    await narrow.screenshot({ path: path.join(pictures, "narrow.png"), fullPage: true });
    await page.emulateMedia({ media: "print" });
    await page.setViewportSize({ width: 760, height: 1000 });
    await shot("print");
    await page.pdf({ path: path.join(pictures, "print.pdf"), format: "A4" });
  }

  // Text against its background, by the formula of WCAG 2.
  found.contrast = {};
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ media: "screen", colorScheme: scheme });
    await page.evaluate((it) => { document.documentElement.dataset.theme = it; }, scheme);
    found.contrast[scheme] = await page.evaluate(() => {
      const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const light = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((c) => {
          const s = c / 255;
          return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const paper = light(getComputedStyle(document.body).backgroundColor);
      let least = [99, ""];
      for (const it of document.querySelectorAll("p, li, dt, dd, th, td, h2, h3, button, span, small, strong, svg text")) {
        if (!it.textContent.trim()) continue;
        const style = getComputedStyle(it);
        const ink = light(it instanceof SVGElement ? style.fill : style.color);
        const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        if (ratio < least[0]) least = [Math.round(ratio * 100) / 100, it.tagName + "." + it.className];
      }
      return least;
    });
  }
  await browser.close();
  console.log(JSON.stringify(found));
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
