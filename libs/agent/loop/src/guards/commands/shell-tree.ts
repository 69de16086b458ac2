import {
  type CommandNode,
  type CompoundCommand,
  type CompoundList,
  type Function as FunctionNode,
  type Redirection,
  type Statement,
  parse as unbash,
} from 'unbash';

/** The files and texts that the redirections of a command name. */
interface Redirects {
  /** Files that its output is redirected to, as written. */
  readonly outputs: readonly string[];
  /** Those of `outputs` that it appends to. */
  readonly appends: readonly string[];
  /** Files that its input is redirected from, and the bodies of here-documents. */
  readonly inputs: readonly string[];
}

export type Element =
  | ({ readonly kind: 'command'; readonly words: readonly string[] } & Redirects)
  | ({ readonly kind: 'group'; readonly body: List } & Redirects)
  /** `if`, `for`, `while`, `case` or a function. Its body may run any number of times. */
  | ({ readonly kind: 'compound'; readonly body: List } & Redirects);

export interface Pipeline {
  readonly elements: readonly Element[];
  readonly negated: boolean;
}

export interface AndOr {
  readonly pipelines: readonly Pipeline[];
  /** The operator before each pipeline except the first. */
  readonly operators: readonly ('&&' | '||')[];
  readonly background: boolean;
}

export type List = readonly AndOr[];

/** Enough for any line that a person would write. */
const MAX_DEPTH = 20;

export interface Parsed {
  readonly list: List;
  /** True if the line has a syntax error: the list holds what could be read. */
  readonly broken: boolean;
}

/** What can be read of a command line, even with errors. Undefined for one nested so deep that the parser overflows. */
export function parseShell(line: string): Parsed | undefined {
  try {
    const { commands, errors } = unbash(line);
    return { list: listOf(commands, line, 0), broken: errors !== undefined && errors.length > 0 };
  } catch {
    return undefined;
  }
}

function listOf(statements: readonly Statement[], source: string, depth: number): List {
  if (depth > MAX_DEPTH) return [];
  return statements.flatMap(({ command, background = false }): AndOr[] => {
    const nodes = command.type === 'AndOr' ? command.commands : [command];
    const operators = command.type === 'AndOr' ? command.operators : [];
    const pipelines = nodes.map((node): Pipeline => {
      const commands = node.type === 'Pipeline' ? node.commands : [node];
      const prefixes = node.type === 'Pipeline' ? node.prefixes : [];
      return {
        elements: commands.flatMap((one) => elementsOf(one, source, depth)),
        negated: prefixes.some(({ type }) => type === 'Negation'),
      };
    });
    return parted({ pipelines, operators, background });
  });
}

/** sh reads `a &> b` as `a &` and `> b`; bash redirects both streams. The line is judged as the stricter does. */
function parted(andOr: AndOr): AndOr[] {
  const both = andOr.pipelines.flatMap(({ elements }) =>
    elements.flatMap(({ outputs }) => outputs.filter(isBoth)),
  );
  if (both.length === 0) return [andOr];
  const pipelines = andOr.pipelines.map(({ elements, negated }) => ({
    elements: elements.map((one) => ({ ...one, outputs: one.outputs.filter((to) => !isBoth(to)) })),
    negated,
  }));
  const outputs = both.map((to) => to.slice(BOTH.length));
  const opened: Element = { kind: 'command', words: [], outputs, appends: [], inputs: [] };
  return [
    { ...andOr, pipelines, background: true },
    { pipelines: [{ elements: [opened], negated: false }], operators: [], background: false },
  ];
}

/** Marks the target of `&>`, which no other target can begin with. */
const BOTH = '&>\0';
const isBoth = (to: string): boolean => to.startsWith(BOTH);

const NONE: Redirects = { outputs: [], appends: [], inputs: [] };

function elementsOf(node: CommandNode, source: string, depth: number): Element[] {
  const inside = (body: CompoundList): List => listOf(body.commands, source, depth + 1);
  switch (node.type) {
    case 'Command': {
      const words = [
        ...node.prefix.flatMap((one) => (one.type === 'Assignment' ? [assigned(one)] : [])),
        ...(node.name === undefined ? [] : [node.name.value]),
        ...node.args.map((one) => (one.type === 'Assignment' ? assigned(one) : one.value)),
      ];
      const redirects = redirectsOf(node.redirects);
      const isNothing = words.length === 0 && redirects.outputs.length === 0;
      return isNothing ? [] : [{ kind: 'command', words, ...redirects }];
    }
    case 'Redirected':
      return compound(node.command, inside, source, redirectsOf(node.redirects));
    case 'Function':
      return [{ kind: 'command', words: ['function', node.name.value], ...NONE }, bodyOf(node)];
    case 'Coproc':
      return [{ kind: 'compound', body: bodyList(node.body), ...NONE }];
    default:
      return compound(node, inside, source, NONE);
  }

  function bodyOf({ body }: FunctionNode): Element {
    return { kind: 'compound', body: bodyList(body), ...NONE };
  }

  function bodyList(body: CommandNode | CompoundList): List {
    if (body.type === 'CompoundList') return inside(body);
    if (depth > MAX_DEPTH) return [];
    const elements = elementsOf(body, source, depth + 1);
    return [{ pipelines: [{ elements, negated: false }], operators: [], background: false }];
  }
}

function compound(
  node: CompoundCommand,
  inside: (body: CompoundList) => List,
  source: string,
  redirects: Redirects,
): Element[] {
  switch (node.type) {
    case 'Subshell':
    case 'BraceGroup':
      return [{ kind: 'group', body: inside(node.body), ...redirects }];
    case 'If': {
      const bodies = [node.clause, node.then, ...node.elif.flatMap(({ clause, then }) => [clause, then])];
      const all = node.else === undefined ? bodies : [...bodies, node.else];
      return [{ kind: 'compound', body: all.flatMap(inside), ...redirects }];
    }
    case 'While':
      return [{ kind: 'compound', body: [node.clause, node.body].flatMap(inside), ...redirects }];
    case 'Case':
      return [{ kind: 'compound', body: node.items.flatMap(({ body }) => inside(body)), ...redirects }];
    case 'For':
    case 'Select':
    case 'ArithmeticFor':
      return [{ kind: 'compound', body: inside(node.body), ...redirects }];
    case 'TestCommand': {
      const words = source.slice(node.pos, node.end).split(/\s+/);
      return [{ kind: 'command', words, ...redirects }];
    }
    case 'ArithmeticCommand':
      return [{ kind: 'command', words: ['(('], ...redirects }];
  }
}

const assigned = (one: {
  readonly text: string;
  readonly value: { readonly type: string; readonly value?: string };
}): string => {
  const { value } = one.value;
  const at = one.text.indexOf('=');
  return value === undefined || at === -1 ? one.text : `${one.text.slice(0, at + 1)}${value}`;
};

function redirectsOf(redirections: readonly Redirection[]): Redirects {
  const outputs: string[] = [];
  const appends: string[] = [];
  const inputs: string[] = [];
  for (const one of redirections) {
    if (one.type === 'HereDoc') inputs.push(one.body.text);
    else if (one.target === undefined) continue;
    else {
      const target = one.target.value;
      if (one.operator === '<' || one.operator === '<<<') inputs.push(target);
      else if (one.operator === '&>' || one.operator === '&>>') outputs.push(`${BOTH}${target}`);
      else if (one.operator === '>&' || one.operator === '<&') {
        if (one.operator === '>&' && !/^(?:\d+|-)$/.test(target)) outputs.push(target);
      } else {
        outputs.push(target);
        if (one.operator === '>>') appends.push(target);
      }
    }
  }
  return { outputs, appends, inputs };
}
