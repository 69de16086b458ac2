import { FleetError } from '@hermes-fleet/protocol';

/** State that the transactions of one batch share. A call gives that of the open transaction, and makes it when there is none. */
export interface BatchState<S> {
  (): S;
  /** The state of the open transaction, if one asked for it. Does not count as a write. */
  peek(): S | undefined;
}

/** The states that the transactions of one batch share. */
export function createBatchStates() {
  const states: { write(): void; forget(): void }[] = [];
  let isOpen = false;
  let asked = 0;
  return {
    /** See `GroupCommit.perBatch`. */
    add: <S>(create: () => S, write: (state: S) => void): BatchState<S> => {
      let current: { readonly value: S } | undefined;
      states.push({
        write: () => {
          if (current) write(current.value);
        },
        forget: () => {
          current = undefined;
        },
      });
      const state = (): S => {
        if (!isOpen) throw new FleetError('INTERNAL', 'the state of a batch exists only in a transaction');
        asked += 1;
        current ??= { value: create() };
        return current.value;
      };
      return Object.assign(state, { peek: () => current?.value });
    },
    /** The number of times that a transaction asked for a state. */
    asked: (): number => asked,
    begin: (): void => {
      isOpen = true;
    },
    /** Writes the states of the open transaction. */
    write: (): void => {
      for (const state of states) state.write();
    },
    /** Forgets all states: the transaction has ended. */
    end: (): void => {
      isOpen = false;
      for (const state of states) state.forget();
    },
  };
}
