import { type FieldError, FleetError } from '@hermes-fleet/protocol';

/** What is wrong with a member's configuration, gathered so that a start tells of all of it at once. */
export interface Problems {
  /**
   * What `read` gives. Undefined when it throws CONFIG_INVALID, whose problems are kept, each where `locate` says that
   * its path stands; what else it throws goes on.
   */
  attempt<T>(read: () => T, locate?: (path: string) => string): T | undefined;
  add(found: readonly FieldError[]): void;
  readonly found: readonly FieldError[];
  /** One CONFIG_INVALID with all of it. */
  error(): FleetError;
}

export function createProblems(member: string): Problems {
  const found: FieldError[] = [];
  return {
    found,
    attempt(read, locate = (path) => path) {
      try {
        return read();
      } catch (thrown) {
        if (!(thrown instanceof FleetError) || thrown.code !== 'CONFIG_INVALID') throw thrown;
        const fields = thrown.fields.map(({ path, reason }) => ({ path: locate(path), reason }));
        found.push(...(fields.length > 0 ? fields : [{ path: member, reason: thrown.message }]));
        return undefined;
      }
    },
    add: (more) => void found.push(...more),
    error() {
      const count = found.length === 1 ? 'a problem' : `${found.length} problems`;
      return new FleetError('CONFIG_INVALID', `the configuration of ${member} has ${count}`, {
        fields: found,
      });
    },
  };
}
