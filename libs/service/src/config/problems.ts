import { type FieldError, FleetError } from '@hermes-fleet/protocol';

/** One thing that is wrong with a configuration file. */
export interface Problem {
  /** From 1. */
  readonly line: number;
  /** The key's path, `fleet.server.bind_port`; empty for the file itself. */
  readonly path: string;
  /** What is wrong, and what to write instead. */
  readonly reason: string;
}

const MAX_PROBLEMS = 100;

/**
 * All problems of a file as one CONFIG_INVALID, in the order of their lines. Each is a field (`fleet.yaml:12
 * fleet.server.bind_port` and the reason) and a line of the message.
 */
export function configInvalid(file: string, problems: readonly Problem[]): FleetError {
  const unique = new Map(problems.map((problem) => [JSON.stringify(problem), problem]));
  const sorted = [...unique.values()].sort((a, b) => a.line - b.line);
  const fields: FieldError[] = sorted.slice(0, MAX_PROBLEMS).map(({ line, path, reason }) => ({
    path: path === '' ? `${file}:${line}` : `${file}:${line} ${path}`,
    reason,
  }));
  const more = sorted.length - fields.length;
  const lines = fields.map(({ path, reason }) => `  ${path}: ${reason}`);
  if (more > 0) lines.push(`  and ${more} more`);
  const count = sorted.length === 1 ? '1 problem' : `${sorted.length} problems`;
  return new FleetError('CONFIG_INVALID', `${file} has ${count}:\n${lines.join('\n')}`, { fields });
}
