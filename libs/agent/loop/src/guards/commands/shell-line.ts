import { type AndOr, type Element, type List, type Pipeline, parseShell } from './shell-tree.ts';

export interface ShellCommand {
  /** Unquoted; expansions are not evaluated. */
  readonly words: readonly string[];
  /** Files that its output is redirected to, as written. */
  readonly outputs: readonly string[];
  /** Those of `outputs` that it appends to. */
  readonly appends: readonly string[];
  /** Files that its input is redirected from, and the bodies of here-documents. */
  readonly inputs: readonly string[];
  /** True if exit code 0 of the whole line proves that this command ran and exited with 0. */
  readonly shown: boolean;
}

/** True if the program reads its input as a shell script. */
export const isShell = (program: string): boolean => SHELLS.test(program);
const SHELLS = /^(?:.*\/)?(?:sh|bash|dash|zsh|ksh|ash)$/;
const MAX_DEPTH = 20;
const MAX_WORDS = 5000;
/** Longer than a line that a model writes, a file in a here-document included; parsing it takes at most a fraction of a second. */
const MAX_CHARS = 48 * 1024;

/** Stands for a line that is too long or nested too deep to be judged. */
export const TOO_LONG: ShellCommand = { words: ['…'], outputs: [], appends: [], inputs: [], shown: false };

/**
 * The commands of a command line in order, including those of `sh -c`, groups and loops. If the line contains traps,
 * functions, `eval` or a syntax error, no command counts as `shown`. A line that cannot be judged yields TOO_LONG alone.
 */
export function shellCommands(line: string): readonly ShellCommand[] {
  if (last?.line !== line) last = { line, commands: commandsOf(line) };
  return last.commands;
}

/** The line that was parsed last: the guards ask several times for the commands of one call. */
let last: { readonly line: string; readonly commands: readonly ShellCommand[] } | undefined;

function commandsOf(line: string): readonly ShellCommand[] {
  const parsed = line.length > MAX_CHARS ? undefined : parseShell(line);
  if (parsed === undefined) return [TOO_LONG];
  const { list, broken } = parsed;
  const found: ShellCommand[] = [];
  collect(list, { shown: !broken, errexit: false, guarded: false, pipefail: false, depth: 0 }, found);
  if (found.reduce((sum, { words, outputs }) => sum + words.length + outputs.length, 0) > MAX_WORDS)
    return [TOO_LONG];
  const isOpaque = found.some(({ words: [name] }) => name !== undefined && OPAQUE.has(name));
  return isOpaque ? found.map((command) => ({ ...command, shown: false })) : found;
}

const OPAQUE = new Set(['trap', 'eval', 'alias', 'function']);

interface Flow {
  shown: boolean;
  errexit: boolean;
  /** True in a context where sh ignores `set -e`, since an outer operator tests the exit code. */
  guarded: boolean;
  pipefail: boolean;
  readonly depth: number;
}

function collect(list: List, flow: Flow, found: ShellCommand[]): void {
  if (flow.depth > MAX_DEPTH) return;
  for (const [at, andOr] of list.entries()) {
    const isLast = at === list.length - 1;
    const ends = isLast || (flow.errexit && !flow.guarded && andOr.pipelines.length === 1);
    const listShown = flow.shown && !andOr.background && ends;
    const hidden = lastHidden(andOr);
    for (const [place, pipeline] of andOr.pipelines.entries()) {
      const isImplied = place > hidden && andOr.operators[place - 1] !== '||';
      const shown = listShown && isImplied && !pipeline.negated;
      const guarded = flow.guarded || place < andOr.pipelines.length - 1 || pipeline.negated;
      for (const [index, element] of pipeline.elements.entries()) {
        const isEnd = index === pipeline.elements.length - 1 || flow.pipefail;
        collectElement(element, { ...flow, shown: shown && isEnd, guarded, depth: flow.depth + 1 }, found);
      }
    }
    const [only, ...others] = andOr.pipelines;
    const [element] = only?.elements ?? [];
    if (others.length === 0 && element?.kind === 'command') applyTo(flow, element.words);
  }
}

/** `set -e` and `set -o pipefail` apply from here on. Nothing after `exit` runs. */
function applyTo(flow: Flow, words: readonly string[]): void {
  const [name, ...args] = words;
  if (name === 'exit' || name === 'return' || (name === 'exec' && args.length > 0)) flow.shown = false;
  if (name !== 'set') return;
  if (args.includes('-n')) flow.shown = false;
  if (args.some((arg) => /^-[a-z]*e/.test(arg) || arg === 'errexit')) flow.errexit = true;
  if (args.includes('pipefail')) flow.pipefail = true;
  if (args.some((arg) => /^\+[a-z]*[eo]/.test(arg))) flow.errexit = false;
  if (args.includes('+o')) flow.pipefail = false;
}

/** The last pipeline whose failure a `||` can hide from the exit code of the whole; -1 if there is none. */
const lastHidden = ({ pipelines, operators }: AndOr): number =>
  operators.findLastIndex((operator, at) => operator === '||' && !neverSucceeds(pipelines[at + 1]));

/** True for a right-hand side such as `exit 1`, which hides no failure. */
function neverSucceeds(pipeline: Pipeline | undefined): boolean {
  const [element, ...others] = pipeline?.elements ?? [];
  if (element === undefined || others.length > 0 || pipeline?.negated) return false;
  if (element.kind === 'command') {
    const [name, code] = element.words;
    return (
      name === 'false' ||
      (name === 'exit' && code !== undefined && /^\d+$/.test(code) && Number(code) % 256 !== 0)
    );
  }
  const last = element.kind === 'group' ? element.body.at(-1) : undefined;
  if (last === undefined || last.background || last.operators.includes('||')) return false;
  return neverSucceeds(last.pipelines.at(-1));
}

function collectElement(element: Element, flow: Flow, found: ShellCommand[]): void {
  const { outputs, appends, inputs } = element;
  const script = element.kind === 'command' ? scriptOf(element.words) : undefined;
  if (element.kind === 'command' && script === undefined) {
    found.push({ words: element.words, outputs, appends, inputs, shown: flow.shown });
    return;
  }
  // The shell opens the files before it runs anything.
  if (outputs.length > 0) found.push({ words: [], outputs, appends, inputs, shown: false });
  if (script !== undefined) {
    const parsed = parseShell(script);
    const shown = flow.shown && !parsed?.broken;
    if (parsed === undefined) found.push(TOO_LONG);
    else collect(parsed.list, { ...flow, shown, errexit: false, guarded: false, pipefail: false }, found);
  }
  if (element.kind === 'group') collect(element.body, flow, found);
  else if (element.kind === 'compound') collect(element.body, { ...flow, shown: false }, found);
}

/** The script of `sh -c`. */
function scriptOf([name = '', ...args]: readonly string[]): string | undefined {
  if (!SHELLS.test(name)) return undefined;
  const flag = args.findIndex((arg) => /^-[a-z]*c$/.test(arg));
  // With -n the shell runs nothing.
  if (args.slice(0, flag + 1).some((arg) => /^-[a-z]*n/.test(arg))) return '';
  return flag === -1 ? undefined : args[flag + 1];
}
