import type { Readable, Writable } from 'node:stream';

/** Where a command reads and writes: what the process has, or what a test gives it. */
export interface Streams {
  /** Opens it: a pipe that is open does not block, which a program that inherits it may not expect. */
  readonly stdin: () => Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
}

/** An option of a command. A string option takes a value; with `multiple` it may be repeated. */
export interface OptionSpec {
  readonly type: 'string' | 'boolean';
  readonly multiple?: true;
  readonly short?: string;
  /** The name of the value in `--help`. */
  readonly value?: string;
  readonly help: string;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

type ValueOf<O extends OptionSpec> = O extends { type: 'boolean' }
  ? boolean
  : O extends { multiple: true }
    ? readonly string[]
    : string;

/** The given options by name; an absent option has no key. */
export type Values<T extends OptionSpecs> = { readonly [K in keyof T]?: ValueOf<T[K]> | undefined };

export type Output = 'text' | 'json' | 'yaml';

/** One call of a command, with its options parsed. */
export interface Invocation<T extends OptionSpecs> extends Streams {
  readonly values: Values<T>;
  readonly positionals: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** What the caller wants on stdout. */
  readonly output: Output;
  /** Prints a value as one document, in JSON on one line or in YAML; undefined when the caller wants text. */
  readonly print: ((value: unknown) => void) | undefined;
}

interface Described<T extends OptionSpecs> {
  /** The words of the command, such as `trader audit verify`. */
  readonly name: string;
  readonly summary: string;
  /** The arguments as `--help` shows them, such as `<id>`. */
  readonly args?: string;
  readonly options: T;
  /** Command lines without the leading `fleet`. */
  readonly examples: readonly string[];
  /** The command has no `--json` and no `-o`. */
  readonly textOnly?: true;
}

/** A command of the table in `run.ts`; `run` resolves with the exit code. */
export interface Command extends Described<OptionSpecs> {
  readonly run: (invocation: Invocation<OptionSpecs>) => Promise<number> | number;
}

/** Defines a command whose `run` sees its own options with their types. */
export function command<const T extends OptionSpecs>(
  defined: Described<T> & {
    readonly run: (invocation: Invocation<T>) => Promise<number> | number;
  },
): Command {
  // The parser fills `values` from `options`, which is what the type of `run` says.
  return { ...defined, run: (invocation) => defined.run(invocation as Invocation<T>) };
}
