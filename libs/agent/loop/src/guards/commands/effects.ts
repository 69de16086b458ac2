import { posix } from 'node:path';
import { type CheckKind, checkKind } from './checks.ts';
import { commandWords } from './command-words.ts';
import { isCode, stemOf } from './file-kind.ts';
import { isShell, shellCommands, TOO_LONG } from './shell-line.ts';
import { writesOf } from './writes.ts';

/** One effect of a command line on the verification state. */
export type Effect =
  /** `path` is undefined if the command does not name the files that it changes. */
  | { readonly kind: 'write'; readonly path: string | undefined; readonly command: string }
  /** A file, or a directory with its contents. `moved` means that it exists under another path now. */
  | { readonly kind: 'removal'; readonly path: string; readonly moved: boolean }
  | {
      readonly kind: 'check';
      readonly how: CheckKind;
      readonly command: string;
      /** True if exit code 0 of the whole line proves that this command succeeded. */
      readonly shown: boolean;
      /** The program, its arguments and its inputs, to be searched for file names. */
      readonly given: readonly string[];
    };

/** The writes, removals and checks of a command line in order, as far as its text shows them (docs/agent.md#guards). */
export function effectsOf(line: string): Effect[] {
  const effects: Effect[] = [];
  let directory = '.';
  for (const one of shellCommands(line)) {
    const command = commandWords(one.words);
    const text = one.words.join(' ');
    if (one === TOO_LONG) effects.push({ kind: 'write', path: undefined, command: line.trim() });
    if (command?.program === 'cd') {
      directory = posix.join(directory, command.args[0] ?? '.');
      continue;
    }
    const found = command && writesOf(command);
    for (const path of [...one.outputs, ...(found?.files ?? [])]) write(path, text || line.trim());
    for (const path of found?.removed ?? []) remove(path, false);
    for (const path of found?.moved ?? []) remove(path, true);
    if (found?.others) effects.push({ kind: 'write', path: undefined, command: text });
    const how = command && checkKind(command);
    // Output that goes to a file is not read.
    if (command === undefined || how === undefined || (how === 'read' && one.outputs.length > 0)) continue;
    const inputs = isShell(command.program)
      ? one.inputs.filter((input) => !input.includes('\n'))
      : one.inputs;
    const given = [command.path, ...command.args, ...inputs].map((arg) => inside(directory, arg));
    effects.push({ kind: 'check', how, command: text, shown: one.shown && !command.unnamed, given });
  }
  return effects;

  function remove(path: string, moved: boolean): void {
    const target = inside(directory, path);
    if (!isElsewhere(target)) effects.push({ kind: 'removal', path: target, moved });
  }

  function write(path: string, command: string): void {
    const target = inside(directory, path);
    if (!isElsewhere(target)) effects.push({ kind: 'write', path: target, command });
  }
}

const inside = (directory: string, path: string): string =>
  path.startsWith('/') || /[\n$`]/.test(path) ? path : posix.join(directory, path);

/** True for paths outside the work: devices, temporary files, the agent's own notes. */
const isElsewhere = (path: string): boolean =>
  /^(?:\/dev\/|\/tmp\/|\/var\/tmp\/|\/proc\/|~|\$HOME\b|\$TMPDIR\b|\$\(mktemp|\.scratch(?:\/|$)|\.git(?:\/|$)|PROGRESS\.json$|-$)/.test(
    path,
  );

/** The written files that a check names: by path, as a module, by stem, or in a script text that loads or expands it. */
export function filesGiven(how: CheckKind, given: readonly string[], written: Iterable<string>): string[] {
  const exact = new Set(given);
  if (how === 'read') return [...written].filter((path) => exact.has(path));
  const programs = new Set(given.filter(isProgram).map(stemOf));
  const acts = how === 'run' ? LOADS : EXPANDS;
  const texts = given.filter((arg) => /\s|[(;]/.test(arg) && acts.test(arg));
  return [...written].filter((path) => {
    const bare = path.replace(/(?<=.)\.[^./]*$/, '');
    if (exact.has(path) || exact.has(bare) || exact.has(bare.replaceAll('/', '.'))) return true;
    const stem = stemOf(path);
    if (isCode(path) && programs.has(stem)) return true;
    return stem.length > 1 && texts.some((text) => names(text, stem));
  });
}

/** Words with which a script runs or reads another file. */
const LOADS =
  /\b(?:import|require|include|load|use|source|open|read|exec|spawn|system|run|fork|popen|subprocess|check_output|dofile)|`|\$\(/i;
const EXPANDS = /`|\$\(/;

function names(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + name.length)) {
    if (!/[\w-]/.test(text.charAt(at - 1)) && !/[\w-]/.test(text.charAt(at + name.length))) return true;
  }
  return false;
}

/** True for source code and what is built from it: `a`, `dist/a.js`, but not `a.csv`. */
const isProgram = (arg: string): boolean => /^[\w./@-]+$/.test(arg) && (isCode(arg) || !/\.\w+$/.test(arg));
