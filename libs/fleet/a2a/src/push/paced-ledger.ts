import type { Ledger, TaskEvent } from '@hermes-fleet/ledger';

type SlotHolder = ReturnType<typeof createSlotHolder>;

/** The slot of one delivery: at most one, and none while nothing is to be sent. */
export function createSlotHolder(takeSlot: () => Promise<Disposable>) {
  let held: Disposable | undefined;
  const release = (): void => {
    held?.[Symbol.dispose]();
    held = undefined;
  };
  return {
    /** Resolves when the delivery has a slot, in place of one that it had. */
    async renew(): Promise<void> {
      release();
      held = await takeSlot();
    },
    /** Gives the slot back, if there is one. */
    release,
    [Symbol.dispose]: release,
  };
}

export interface PaceOptions {
  readonly slot: SlotHolder;
  /** False for an event of which the target is not told; the watch leaves it out. */
  readonly isTold: (type: string) => boolean;
  /** Called before each event that the watch yields. */
  readonly onEvent: (seq: number) => void;
}

/**
 * A ledger whose watch takes a slot for each event, and gives it back when the next one is asked for. While it waits for an
 * event, or for a slot, it holds the event's sequence and nothing else: deliveries that wait cost no memory.
 */
export function pacedLedger(ledger: Ledger, options: PaceOptions): Ledger {
  return {
    ...ledger,
    watch: (taskId, afterSeq, signal) => pacedEvents(ledger, options, taskId, afterSeq, signal),
  };
}

async function* pacedEvents(
  ledger: Ledger,
  { slot, isTold, onEvent }: PaceOptions,
  taskId: string,
  afterSeq: number,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent, void, undefined> {
  for (let seq = afterSeq; ; ) {
    slot.release();
    const next = await nextEvent(ledger, taskId, seq, signal);
    if (next === undefined) return;
    if (isTold(next.type)) {
      await slot.renew();
      const [event] = ledger.events(taskId, seq, 1);
      // The task was removed meanwhile.
      if (event === undefined) return;
      onEvent(next.seq);
      yield event;
    }
    ({ seq } = next);
  }
}

/** Resolves with the first event after `seq`; undefined if there can be none. */
async function nextEvent(
  ledger: Ledger,
  taskId: string,
  seq: number,
  signal: AbortSignal,
): Promise<Pick<TaskEvent, 'seq' | 'type'> | undefined> {
  signal.throwIfAborted();
  const [known] = ledger.events(taskId, seq, 1);
  if (known) return { seq: known.seq, type: known.type };
  if (ledger.get(taskId) === undefined) return undefined;
  for await (const event of ledger.watch(taskId, seq, signal)) return { seq: event.seq, type: event.type };
  return undefined;
}
