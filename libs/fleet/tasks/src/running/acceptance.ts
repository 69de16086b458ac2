/** Whether a task that this process accepts is stored. */
export interface Acceptance {
  /** Undefined until it is decided. */
  readonly isStored: boolean | undefined;
  /** Never rejects. */
  readonly decided: Promise<boolean>;
}

/** The acceptance of a task whose write tells whether it stored the task; it is not stored if the write fails. */
export function acceptanceOf(write: Promise<{ readonly created: boolean }>): Acceptance {
  const decide = (isStored: boolean): boolean => {
    acceptance.isStored = isStored;
    return isStored;
  };
  const acceptance = {
    isStored: undefined as boolean | undefined,
    decided: write.then(
      ({ created }) => decide(created),
      () => decide(false),
    ),
  };
  return acceptance;
}
