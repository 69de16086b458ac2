import { shellTokens, type Token } from './shell-tokens.ts';

export interface ShellCommand {
  /** Unquoted; expansions are not evaluated. */
  readonly words: readonly string[];
  /** Files that its output is redirected to, as written. */
  readonly outputs: readonly string[];
  /** Files that its input is redirected from, and the bodies of here-documents. */
  readonly inputs: readonly string[];
  /** True if exit code 0 of the whole line proves that this command ran and exited with 0. */
  readonly shown: boolean;
}

type Element =
  | {
      readonly kind: 'command';
      readonly words: string[];
      readonly outputs: string[];
      readonly inputs: string[];
    }
  | { readonly kind: 'group'; readonly body: List; readonly outputs: string[]; readonly inputs: string[] }
  /** `if`, `for`, `while`, `case` or a function. Its body may run any number of times. */
  | { readonly kind: 'compound'; readonly body: List; readonly outputs: string[]; readonly inputs: string[] };

interface Pipeline {
  readonly elements: Element[];
  readonly negated: boolean;
}

interface AndOr {
  readonly pipelines: Pipeline[];
  /** The operator before each pipeline except the first. */
  readonly operators: ('&&' | '||')[];
  background: boolean;
}

type List = AndOr[];

const CLOSES: Readonly<Record<string, string>> = {
  if: 'fi',
  for: 'done',
  while: 'done',
  until: 'done',
  select: 'done',
  case: 'esac',
};
const BETWEEN = new Set(['then', 'do', 'else', 'elif']);
/** True if the program reads its input as a shell script. */
export const isShell = (program: string): boolean => SHELLS.test(program);
const SHELLS = /^(?:.*\/)?(?:sh|bash|dash|zsh|ksh|ash)$/;
const MAX_DEPTH = 20;
const MAX_WORDS = 5000;

/** Stands for a line that is too long to be judged. */
export const TOO_LONG: ShellCommand = { words: ['…'], outputs: [], inputs: [], shown: false };

/**
 * The commands of a command line in order, including those of `sh -c`, groups and loops. If the line contains traps,
 * functions or `eval`, no command counts as `shown`. A line that is too long to judge yields TOO_LONG alone.
 */
export function shellCommands(line: string): ShellCommand[] {
  const found: ShellCommand[] = [];
  collect(parse(line), { shown: true, errexit: false, guarded: false, pipefail: false, depth: 0 }, found);
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
  const { outputs, inputs } = element;
  const script = element.kind === 'command' ? scriptOf(element.words) : undefined;
  if (element.kind === 'command' && script === undefined) {
    found.push({ words: element.words, outputs, inputs, shown: flow.shown });
    return;
  }
  // The shell opens the files before it runs anything.
  if (outputs.length > 0) found.push({ words: [], outputs, inputs, shown: false });
  if (script !== undefined)
    collect(parse(script), { ...flow, errexit: false, guarded: false, pipefail: false }, found);
  else if (element.kind === 'group') collect(element.body, flow, found);
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

function parse(line: string): List {
  const tokens = shellTokens(line);
  let at = 0;

  const isWord = (token: Token | undefined, text: string): boolean =>
    token?.kind === 'word' && !token.quoted && token.text === text;
  const isOperator = (text: string): boolean => {
    const token = tokens[at];
    return token?.kind === 'operator' && token.text === text;
  };
  const take = (text: string): boolean => {
    if (!isOperator(text)) return false;
    at += 1;
    return true;
  };

  /** Parses up to and including `end`, an operator or a reserved word; without it, to the end of the line. */
  function list(end: string | undefined, depth: number): List {
    const found: List = [];
    while (at < tokens.length) {
      if (take(';') || take(';;')) continue;
      if (end !== undefined && (take(end) || isWord(tokens[at], end))) {
        if (isWord(tokens[at], end)) at += 1;
        return found;
      }
      const before = at;
      const andOr: AndOr = { pipelines: [pipeline(depth)], operators: [], background: false };
      for (;;) {
        const operator = isOperator('&&') ? '&&' : isOperator('||') ? '||' : undefined;
        if (operator === undefined) break;
        at += 1;
        while (take(';'));
        andOr.operators.push(operator);
        andOr.pipelines.push(pipeline(depth));
      }
      andOr.background = take('&');
      if (andOr.pipelines.some(({ elements }) => elements.length > 0)) found.push(andOr);
      if (at === before) at += 1;
    }
    return found;
  }

  function pipeline(depth: number): Pipeline {
    const elements: Element[] = [];
    const negated = isWord(tokens[at], '!');
    if (negated) at += 1;
    for (;;) {
      const next = element(depth);
      if (next !== undefined) elements.push(next);
      if (!take('|') && !take('|&')) return { elements, negated };
      while (take(';'));
    }
  }

  function element(depth: number): Element | undefined {
    while (tokens[at]?.kind === 'word' && BETWEEN.has(textAt(at))) at += 1;
    const first = tokens[at];
    if (depth > MAX_DEPTH) {
      at = tokens.length;
      return undefined;
    }
    if (take('(')) return { kind: 'group', body: list(')', depth + 1), ...redirects() };
    if (isWord(first, '{')) {
      at += 1;
      return { kind: 'group', body: list('}', depth + 1), ...redirects() };
    }
    const closing =
      first?.kind === 'word' && !first.quoted && Object.hasOwn(CLOSES, first.text)
        ? CLOSES[first.text]
        : undefined;
    if (closing !== undefined) {
      at += 1;
      return { kind: 'compound', body: list(closing, depth + 1), ...redirects() };
    }
    return simple();
  }

  function simple(): Element | undefined {
    const words: string[] = [];
    const targets = { outputs: [] as string[], inputs: [] as string[] };
    for (;;) {
      const token = tokens[at];
      if (token === undefined || token.kind === 'operator') break;
      at += 1;
      if (token.kind === 'word') words.push(token.text);
      else redirect(token.text, targets);
    }
    // `name (` begins a function definition.
    if (words.length > 0 && isOperator('(')) words.unshift('function');
    const isNothing = words.length === 0 && targets.outputs.length === 0;
    return isNothing ? undefined : { kind: 'command', words, ...targets };
  }

  function redirects(): { outputs: string[]; inputs: string[] } {
    const targets = { outputs: [] as string[], inputs: [] as string[] };
    for (let token = tokens[at]; token?.kind === 'redirect'; token = tokens[at]) {
      at += 1;
      redirect(token.text, targets);
    }
    return targets;
  }

  function redirect(operator: string, targets: { outputs: string[]; inputs: string[] }): void {
    if (tokens[at]?.kind !== 'word') return;
    const target = textAt(at);
    at += 1;
    if (operator === '<' || operator.startsWith('<<')) targets.inputs.push(target);
    else if (operator === '>&' || operator === '<&') {
      if (operator === '>&' && !/^(?:\d+|-)$/.test(target)) targets.outputs.push(target);
    } else targets.outputs.push(target);
  }

  const textAt = (index: number): string => {
    const token = tokens[index];
    return token === undefined ? '' : token.text;
  };

  return list(undefined, 0);
}
