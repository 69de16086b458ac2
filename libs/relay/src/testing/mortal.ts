import type { Ledger } from '@hermes-fleet/ledger';

export type Mode = 'before' | 'after';

/** The write at which a process dies: before it, or after it but before the answer. Nothing is written after that. */
export class Fate {
  readonly #mode: Mode;
  readonly #death = Promise.withResolvers<'died'>();
  readonly #grave = Promise.withResolvers<never>();
  #left: number;

  constructor(nth: number, mode: Mode) {
    this.#left = nth;
    this.#mode = mode;
    this.#grave.promise.catch(() => undefined);
  }

  get died(): Promise<'died'> {
    return this.#death.promise;
  }

  /** Rejects the pending writes. */
  bury(): void {
    this.#grave.reject(new Error('killed'));
  }

  async write<R>(work: () => Promise<R>): Promise<R> {
    this.#left -= 1;
    if (this.#left > 0) return await work();
    if (this.#left === 0) {
      if (this.#mode === 'after') await work();
      this.#death.resolve('died');
    }
    return await this.#grave.promise;
  }
}

/** The ledgers of a profile's successive processes; the latest process can be told when to die. */
export function mortal(): { ledger: (real: Ledger) => Ledger; give(fate: Fate): void } {
  let latest: { fate: Fate | undefined } = { fate: undefined };
  return {
    give(fate) {
      latest.fate = fate;
    },
    ledger(real) {
      const life: typeof latest = { fate: undefined };
      latest = life;
      const dying =
        <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
        (...args: A): Promise<R> =>
          life.fate ? life.fate.write(() => write(...args)) : write(...args);
      const { accept, addArtifact, append, ask, answer, withdraw, saveCheckpoint } = real;
      return {
        ...real,
        accept: dying(accept),
        addArtifact: dying(addArtifact),
        append: dying(append),
        ask: dying(ask),
        answer: dying(answer),
        withdraw: dying(withdraw),
        saveCheckpoint: dying(saveCheckpoint),
      };
    },
  };
}
