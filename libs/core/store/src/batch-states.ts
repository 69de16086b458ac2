import { FleetError } from '@hermes-fleet/protocol';

/** State that the transactions of one batch share. A call gives that of the open transaction, and makes it when there is none. */
export interface BatchState<S> {
  (): S;
  /** The state of the open transaction, if one asked for it. Does not count as a write. */
  peek(): S | undefined;
}

/** The states that the transactions of one batch share. */
export interface BatchStates {
  /** See `GroupCommit.perBatch`. */
  add<S>(create: () => S, write: (state: S) => void): BatchState<S>;
  /** The number of times that a transaction asked for a state. */
  asked(): number;
  begin(): void;
  /** Writes the states of the open transaction. */
  write(): void;
  /** Forgets all states: the transaction has ended. */
  end(): void;
}

interface State {
  write(): void;
  forget(): void;
}

export function createBatchStates(): BatchStates {
  const states: State[] = [];
  let isOpen = false;
  let asked = 0;
  return {
    add: (create, write) => {
      let current: { readonly value: ReturnType<typeof create> } | undefined;
      states.push({
        write: () => {
          if (current) write(current.value);
        },
        forget: () => {
          current = undefined;
        },
      });
      const state = (): ReturnType<typeof create> => {
        if (!isOpen) throw new FleetError('INTERNAL', 'the state of a batch exists only in a transaction');
        asked += 1;
        current ??= { value: create() };
        return current.value;
      };
      return Object.assign(state, { peek: () => current?.value });
    },
    asked: () => asked,
    begin: () => {
      isOpen = true;
    },
    write: () => {
      for (const state of states) state.write();
    },
    end: () => {
      isOpen = false;
      for (const state of states) state.forget();
    },
  };
}
