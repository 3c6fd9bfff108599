// Total Recall's gateway hook: leaves a marker when a session ends or is to be compacted, and shows the brief to new
// turns. Files only. It never throws: a gateway must not suffer from a memory that is out of order.
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ENDS = ["command:new", "command:reset", "session:auto-reset"];
const MARKED = [...ENDS, "session:compact:before"];
const MOST_MARKERS = 200; // left lying where nobody takes them; the oldest say enough
const TAKEN_WITHIN_MS = 250;
const UNWATCHED_AFTER_MS = 1000; // sessions that end together leave theirs within that
const DONE_WITHIN_MS = 3000;
const POLL_MS = 20;
const BRIEF_MAX_CHARS = 20_000; // OpenClaw cuts an injected file there
const BRIEF_CLOSE = "</total-recall-brief>\n";
const PRIVATE = ".total-recall";
const NAME = "memory/observations.md";
const MACHINE_PARTS = ["subagent", "cron", "hook", "heartbeat", "active-memory", "dreaming", "boot"];

export default async function totalRecall(event) {
  try {
    const name = `${event.type}:${event.action}`;
    if (MARKED.includes(name)) await mark(name, event);
    if (name === "agent:bootstrap") showBrief(event);
  } catch {
    // Whatever it was, the next run of the observer finds what was said without us.
  }
}

// Which memory --------------------------------------------------------------------------------------------------------

/** The memory that belongs to the event's agent and workspace; undefined when none does, or it cannot be told. */
function memoryOf(event) {
  const context = event.context ?? {};
  const agent = text(context.agentId) || agentOf(sessionKey(event));
  const workspace = text(context.workspaceDir);
  const fits = memories().filter(
    (memory) =>
      (!agent || memory.agent_id === agent) &&
      (!workspace || realPath(memory.workspace) === realPath(workspace)),
  );
  // 2026.3 names no workspace: then the agent has to be enough, or nothing is.
  return (agent || workspace) && fits.length === 1 ? fits[0].memory_dir : undefined;
}

function memories() {
  const file = path.join(path.dirname(fileURLToPath(import.meta.url)), "config.json");
  let found;
  try {
    found = JSON.parse(fs.readFileSync(file, "utf8"));
  } catch {
    return [];
  }
  const listed = found?.schema === 1 && Array.isArray(found.memories) ? found.memories : [];
  return listed.filter(
    (memory) =>
      text(memory?.agent_id) &&
      path.isAbsolute(text(memory.workspace)) &&
      path.isAbsolute(text(memory.memory_dir)),
  );
}

function sessionKey(event) {
  return text(event.context?.sessionKey) || text(event.sessionKey);
}

function agentOf(key) {
  const [first, agent] = key.split(":");
  return first === "agent" ? agent : "";
}

/** Whether nobody speaks in a session with this key; as scripts/_transcripts/keys.py has it. */
export function isMachineKey(key) {
  let parts = key.split(":");
  if (parts[0] === "agent") parts = parts.slice(2);
  // What follows is an id from outside, which may be any word.
  if (isShared(parts) || parts.includes("direct")) parts = parts.slice(0, 1);
  return parts.some((part) => MACHINE_PARTS.includes(part) || part.startsWith("dreaming-"));
}

function isShared(parts) {
  return parts.includes("group") || parts.includes("channel");
}

function text(value) {
  return typeof value === "string" ? value : "";
}

function realPath(name) {
  try {
    return fs.realpathSync(name);
  } catch {
    return path.resolve(name);
  }
}

// Markers -------------------------------------------------------------------------------------------------------------

async function mark(name, event) {
  const memory = memoryOf(event);
  if (!memory || isMachineKey(sessionKey(event))) return;
  const folder = markersFolder(memory);
  if (!folder) return;
  const lying = untaken(folder, facts(event).agent_id);
  if (lying.length >= MOST_MARKERS) return;
  const marker = writeMarker(folder, name, event);
  // What has lain there for so long says that nobody watches.
  const since = Date.now() - UNWATCHED_AFTER_MS;
  if (ENDS.includes(name) && !lying.some((leftAt) => leftAt < since)) await settled(marker);
}

/** When each of the markers was left that nobody has taken up; another agent's are not for this one's watcher. */
function untaken(folder, agent) {
  const names = fs.readdirSync(folder).filter((file) => file.endsWith(".json"));
  return names.filter((file) => isFor(agent, path.join(folder, file))).map((file) => parseInt(file, 10) || 0);
}

function isFor(agent, file) {
  if (!isReal(file, "isFile")) return false; // to read a pipe would wait for ever
  try {
    const found = text(JSON.parse(fs.readFileSync(file, "utf8"))?.agent_id);
    return !agent || !found || found === agent;
  } catch {
    return fs.existsSync(file); // gone by now, or one that lies there though nobody can read it
  }
}

/** memory/.total-recall/markers, made if need be; "" where a link would lead out of the memory folder. */
function markersFolder(memory) {
  let folder = memory;
  for (const part of [PRIVATE, "markers"]) {
    folder = path.join(folder, part);
    try {
      fs.mkdirSync(folder, { mode: 0o700 });
    } catch (problem) {
      if (problem.code !== "EEXIST") throw problem;
    }
    if (!isReal(folder, "isDirectory")) return "";
  }
  return folder;
}

/** Whether a path is there, and no link. */
function isReal(name, kind) {
  try {
    return fs.lstatSync(name)[kind]();
  } catch {
    return false;
  }
}

/** Write what happened; returns the marker's path. Under another name first, so that nobody reads half of it. */
function writeMarker(folder, name, event) {
  const now = Date.now();
  const base = path.join(folder, `${now}-${randomBytes(6).toString("hex")}`);
  const content = `${JSON.stringify({ schema: 1, event: name, at_ms: now, ...facts(event) })}\n`;
  try {
    fs.writeFileSync(`${base}.tmp`, content, { mode: 0o600, flag: "wx" });
    fs.renameSync(`${base}.tmp`, `${base}.json`);
  } catch (problem) {
    fs.rmSync(`${base}.tmp`, { force: true });
    throw problem;
  }
  return `${base}.json`;
}

/** The session that ended, as far as the host names it. */
function facts(event) {
  const context = event.context ?? {};
  const entry = context.previousSessionEntry ?? context.sessionEntry ?? {};
  const key = sessionKey(event);
  return {
    session_id: short(entry.sessionId) || short(context.sessionId),
    session_key: short(key),
    session_file: short(entry.sessionFile),
    agent_id: short(context.agentId) || short(agentOf(key)),
    reason: short(context.reason),
  };
}

function short(value) {
  return text(value).slice(0, 2000);
}

/** Until what was said is in memory, or nobody takes the marker up, or it takes too long. */
async function settled(marker) {
  const taken = marker.replace(/\.json$/, ".taken");
  await until(() => !fs.existsSync(marker), TAKEN_WITHIN_MS);
  if (!fs.existsSync(marker)) await until(() => !fs.existsSync(taken), DONE_WITHIN_MS);
}

async function until(isSo, withinMs) {
  const end = Date.now() + withinMs;
  while (!isSo() && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

// The brief -----------------------------------------------------------------------------------------------------------

function showBrief(event) {
  const files = event.context?.bootstrapFiles;
  const key = sessionKey(event);
  if (!Array.isArray(files) || isMachineKey(key) || isShared(key.split(":"))) return;
  const memory = memoryOf(event);
  const content = memory && readBrief(path.join(memory, PRIVATE));
  if (!content) return;
  const file = path.join(memory, "observations.md");
  const there = files.find((found) => found?.path === file || found?.name === NAME);
  if (there) Object.assign(there, { content, missing: false });
  else files.push({ name: NAME, path: file, content, missing: false });
}

/** The text of the brief, "" when there is none; a longer one than OpenClaw takes is cut at a line. */
function readBrief(folder) {
  const file = path.join(folder, "brief.txt");
  if (!isReal(folder, "isDirectory") || !isReal(file, "isFile")) return "";
  const brief = fs.readFileSync(file, "utf8");
  if (!brief.trim() || brief.length <= BRIEF_MAX_CHARS) return brief.trim() ? brief : "";
  const head = brief.slice(0, BRIEF_MAX_CHARS - BRIEF_CLOSE.length);
  return head.slice(0, head.lastIndexOf("\n") + 1) + BRIEF_CLOSE;
}
