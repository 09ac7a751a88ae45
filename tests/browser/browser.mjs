// SPDX-License-Identifier: Apache-2.0
// Chromium with a page of plat view in it.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import puppeteer from "puppeteer-core";

export const folder = mkdtempSync(join(tmpdir(), "plat-browser-"));
const bin = process.env.BIN_FOLDER ?? join(import.meta.dirname, "../../build/dev/bin");
const environment = { ...process.env, PLAT_NODE: "test-browser", PLAT_QUIET: "1" };

export function plat(...words) { return execFileSync(join(bin, "plat"), words, { env: environment, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }); }

// The page of a recorded program: one of the planted ones, or a command.
export function pageOf(name, ...command) {
  const trace = join(folder, `${name}.trace`);
  plat("record", "-o", trace, "--", ...(command.length > 0 ? command : [join(bin, "inspect_programs_broker"), name]));
  return plat("view", trace).trim();
}
export const pool = join(bin, "example_pool_tensors");

// One page of several recorded programs.
export function pageOfAll(...names) {
  const traces = names.map(name => join(folder, `${name}.trace`));
  names.forEach((name, i) => plat("record", "-o", traces[i], "--", join(bin, "inspect_programs_broker"), name));
  return plat("view", "-o", join(folder, `${names.join("-")}.html`), ...traces).trim();
}

// The next line that a program prints.
const lines = new Map();
export async function line(program) {
  if (!lines.has(program)) lines.set(program, createInterface({ input: program.stdout })[Symbol.asyncIterator]());
  return (await lines.get(program).next()).value;
}

// A recorded program that does something for every line, and the address of its live page.
export async function live() {
  const start = (...words) => spawn(join(bin, "plat"), words, { env: environment, stdio: ["pipe", "pipe", "ignore"] });
  const program = start("record", "-o", join(folder, "live.trace"), "--", join(bin, "inspect_stays"));
  const server = start("view", "--live", "--pid", await line(program));
  return { program, server, address: await line(server), step: async word => { program.stdin.write(`${word}\n`); await line(program); } };
}

export async function launch() {
  return puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, userDataDir: join(folder, "profile"),
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

// Opens a page and keeps what its console says; nothing may be asked of a network.
export async function open(browser, address, { width = 1280, height = 900, dark = false } = {}) {
  const page = await browser.newPage(), complaints = [];
  page.on("console", message => { if (["error", "warning"].includes(message.type())) complaints.push(message.text()); });
  page.on("pageerror", error => complaints.push(String(error)));
  page.on("request", request => { if (!/^(file|data|blob|http:\/\/127\.0\.0\.1)/.test(request.url())) complaints.push(`asked for ${request.url()}`); });
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  const start = Date.now();
  await page.goto(address.startsWith("http") ? address : `file://${address}`);
  await page.waitForFunction("globalThis.plat?.frames.length > 0", { timeout: 120000 });
  return { page, complaints, opened: Date.now() - start };
}

export function cleanUp() { rmSync(folder, { recursive: true, force: true }); }
