/** Whether a task that this process accepts is stored. */
export interface Acceptance {
  /** Undefined until it is decided. */
  readonly isStored: boolean | undefined;
  /** Never rejects. */
  readonly decided: Promise<boolean>;
}

/** The acceptance whose write resolves with true if it stored the task; it is not stored if the write fails. */
export function acceptanceOf(write: Promise<boolean>): Acceptance {
  let isStored: boolean | undefined;
  const decide = (stored: boolean): boolean => {
    isStored = stored;
    return stored;
  };
  const decided = write.then(decide, () => decide(false));
  return {
    get isStored() {
      return isStored;
    },
    decided,
  };
}
