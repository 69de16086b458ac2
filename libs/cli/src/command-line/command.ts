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

/** An option that is given or not. */
export const flag = (help: string, short?: string) =>
  ({ type: 'boolean', help, ...(short && { short }) }) as const;

/** An option with a value. */
export const text = (value: string, help: string) => ({ type: 'string', value, help }) as const;

/** An option with a value that may be repeated. */
export const texts = (value: string, help: string) =>
  ({ type: 'string', multiple: true, value, help }) as const;

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
  /** Prints a value as one document, or for text the lines that `render` makes of it. */
  readonly show: <T>(value: T, render: (value: T) => readonly string[]) => void;
}

/** What `--help` and the parser need of a command; its implementation is loaded when it is called. */
export interface Usage<T extends OptionSpecs = OptionSpecs> {
  /** The words of the command, such as `trader audit verify`. */
  readonly name: string;
  readonly summary: string;
  /** The arguments as `--help` shows them, such as `<id>`. Without it, the command takes none. */
  readonly args?: string;
  readonly options: T;
  /** Command lines without the leading `fleet`. */
  readonly examples: readonly string[];
  /** The command has no `--json` and no `-o`. */
  readonly textOnly?: true;
}

/** Describes a command; its implementation sees the options with their types. Its name is the example of one without others. */
export const usage = <const T extends OptionSpecs>(
  name: string,
  summary: string,
  {
    examples = [name],
    ...more
  }: Omit<Usage<T>, 'name' | 'summary' | 'examples'> & Partial<Pick<Usage<T>, 'examples'>>,
): Usage<T> => ({ ...more, name, summary, examples });

type Run<T extends OptionSpecs> = (
  invocation: Invocation<T>,
) => Promise<number | undefined> | number | undefined;

/** The implementation of a command; `run` resolves with the exit code, 0 if it gives none. */
export interface Command {
  /** The words of its usage. */
  readonly name: string;
  readonly run: Run<OptionSpecs>;
}

/** Implements a command: `run` sees the options of its usage with their types. */
export function command<T extends OptionSpecs>({ name }: Usage<T>, run: Run<T>): Command {
  // The parser fills `values` from the options of the usage, which is what the type of `run` says.
  return { name, run: (invocation) => run(invocation as Invocation<T>) };
}
