import type { ModelHealth } from '../handshake/announce.ts';

export interface MeasuredModel {
  readonly state: ModelHealth;
  /** Readable, for callers and operators; contains no secret and no text of the provider. */
  readonly detail: string;
}

/** The measured health of a profile's model (docs/agent.md#model-health). */
export interface ModelWatch {
  health(): MeasuredModel;
  /**
   * Returns the health by evidence that is younger than `maxAgeMs`: it probes the model if there is none, and again as
   * long as single failures leave it open. Resolves within `timeoutMs`, with what is known then. Never rejects.
   */
  probe(options: { readonly maxAgeMs: number; readonly timeoutMs: number }): Promise<MeasuredModel>;
  /** Calls the listener when the state has changed. */
  onChange(listener: () => void): Disposable;
}
