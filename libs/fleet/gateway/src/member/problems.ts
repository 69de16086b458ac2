import { type FieldError, FleetError } from '@hermes-fleet/protocol';

export type Problems = ReturnType<typeof createProblems>;

/** Collects the problems of a member's configuration, so that a start reports all of them at once. */
export function createProblems(member: string) {
  const found: FieldError[] = [];
  return {
    found: found as readonly FieldError[],
    /**
     * Returns the result of `read`, or collects the problems of its CONFIG_INVALID, with paths mapped by `locate`, and
     * returns undefined. Rethrows other errors.
     */
    attempt<T>(read: () => T, locate = (path: string): string => path): T | undefined {
      try {
        return read();
      } catch (thrown) {
        if (!(thrown instanceof FleetError) || thrown.code !== 'CONFIG_INVALID') throw thrown;
        const fields = thrown.fields.map(({ path, reason }) => ({ path: locate(path), reason }));
        found.push(...(fields.length > 0 ? fields : [{ path: member, reason: thrown.message }]));
        return undefined;
      }
    },
    add: (more: readonly FieldError[]): void => void found.push(...more),
    /** One CONFIG_INVALID with all problems. */
    error(): FleetError {
      const count = found.length === 1 ? 'a problem' : `${found.length} problems`;
      return new FleetError('CONFIG_INVALID', `the configuration of ${member} has ${count}`, {
        fields: found,
      });
    },
  };
}
