import { OUTPUTS_DIR } from './spill.ts';

/** A command that does nothing but show files. */
export interface Reading {
  /** True when all of its files are outputs that the agent has kept. */
  readonly isKeptOutput: boolean;
}

const MAX_CHARS = 2_000;
/** Commands that show a file, and after a pipe a part of it. */
const SHOWS = /^(?:cat|head|tail|nl|sed\s+(?:-n|--quiet|--silent))(?=\s)/;
const CUTS = /^(?:head|tail|nl|cat|sed\s+(?:-n|--quiet|--silent))(?=\s|$)/;
/** What can name a file beyond the words of the command, run another command, or write. */
const SPECIAL = /[;&<>`$(){}\\\n*?[\]~#!]/;
const QUOTED = /'[^']*'|"[^"$`\\]*"/g;
const COUNT = /^[+-]?\d+$/;
const SED_SCRIPT = /^(?:\$|\d+)(?:,(?:\$|\+?\d+))?p$/;

/** Recognizes commands that only show files, also cut by a pipe; undefined for every other, and in doubt. */
export function readingOf(command: string): Reading | undefined {
  if (command.length > MAX_CHARS) return undefined;
  const bare = command.replace(QUOTED, (quoted) => 'q'.repeat(quoted.length));
  if (SPECIAL.test(bare.trim())) return undefined;
  const [first = '', ...cuts] = split(command, bare);
  if (!SHOWS.test(first) || !cuts.every((cut) => CUTS.test(cut) && filesOf(cut)?.length === 0))
    return undefined;
  const files = filesOf(first);
  if (files === undefined || files.length === 0) return undefined;
  return { isKeptOutput: files.every((file) => `/${file}`.includes(`/${OUTPUTS_DIR}/`)) };
}

/** The parts between pipes; a pipe in quotes is text. */
function split(command: string, bare: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let at = bare.indexOf('|'); at !== -1; at = bare.indexOf('|', from)) {
    parts.push(command.slice(from, at).trim());
    from = at + 1;
  }
  return [...parts, command.slice(from).trim()];
}

/** The files among the words; undefined when sed has a script that is more than line numbers. */
function filesOf(part: string): string[] | undefined {
  const words =
    part.match(/'[^']*'|"[^"]*"|[^\s'"]+/g)?.map((word) => word.replace(/^(['"])(.*)\1$/, '$2')) ?? [];
  const [program, ...rest] = words;
  const given = rest.filter((word) => !word.startsWith('-') && !COUNT.test(word));
  if (program !== 'sed') return given;
  const [script = '', ...files] = given;
  return SED_SCRIPT.test(script) ? files : undefined;
}
