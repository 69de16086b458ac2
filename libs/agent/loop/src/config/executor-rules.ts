/** The kinds of `executor`. For each, the process has an `ExecutorProvider`. */
export const EXECUTOR_KINDS = ['loop', 'claude-code'] as const;
export type ExecutorKind = (typeof EXECUTOR_KINDS)[number];

/** What an executor makes of other keys of config.yaml, each by its path (`tools.shell.network`). */
export interface ExecutorRules {
  /** Keys without effect, each with what holds instead. The start-up log names those that are set. */
  readonly ignores: Readonly<Record<string, string>>;
  /** Keys that must have their defaults, each with the reason and what to do. Others are refused. */
  readonly refuses: Readonly<Record<string, string>>;
}

/** The value of the key at a path of config.yaml; undefined where it, or a key above it, is not there. */
export function valueAt(config: unknown, path: string): unknown {
  let value: unknown = config;
  for (const key of path.split('.'))
    value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  return value;
}
