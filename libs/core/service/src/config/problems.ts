import { type FieldError, FleetError } from '@hermes-fleet/protocol';

/** A problem of a configuration file. */
export interface Problem {
  /** Starts at 1. */
  readonly line: number;
  /** The path of the key, `fleet.server.bind_port`; empty for the file itself. */
  readonly path: string;
  /** The problem and its fix. */
  readonly reason: string;
}

const MAX_PROBLEMS = 100;

/**
 * The problems of a file as one CONFIG_INVALID, ordered by line. Each problem is a field (`fleet.yaml:12
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
