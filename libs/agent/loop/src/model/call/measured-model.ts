import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { wrapLanguageModel } from 'ai';

export interface MeasuredCall {
  /** `canceled`: the task was canceled, or its side ended the answer at a limit. */
  readonly outcome: 'ok' | 'error' | 'canceled';
  readonly seconds: number;
  /** From the request to the first token of any kind; undefined when none came. */
  readonly firstTokenSeconds: number | undefined;
}

export interface CallMeasurement {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Called when a call has ended. It must not throw. */
  readonly onCall: (call: MeasuredCall) => void;
}

const TOKENS: ReadonlySet<LanguageModelV4StreamPart['type']> = new Set([
  'text-delta',
  'reasoning-delta',
  'tool-input-start',
  'tool-call',
]);

/** Times a call from now on. */
export function timeCall({ clock, onCall }: CallMeasurement) {
  const startedAt = clock.monotonic();
  const elapsed = (): number => (clock.monotonic() - startedAt) / 1000;
  let firstTokenSeconds: number | undefined;
  return {
    heard(): void {
      firstTokenSeconds ??= elapsed();
    },
    /** Reports the call, which `signal` may have canceled. */
    ended(isFinished: boolean, signal: AbortSignal | undefined): void {
      const unfinished = signal?.aborted ? 'canceled' : 'error';
      onCall({ outcome: isFinished ? 'ok' : unfinished, seconds: elapsed(), firstTokenSeconds });
    },
  };
}

/** A model that reports each streamed call, with every attempt as a call of its own. Answers are unchanged. */
export function withMeasurement(model: LanguageModelV4, measurement: CallMeasurement): LanguageModelV4 {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      async wrapStream({ doStream, params }) {
        const timed = timeCall(measurement);
        let isFinished = false;
        async function* measured(stream: ReadableStream<LanguageModelV4StreamPart>) {
          try {
            for await (const part of stream) {
              if (TOKENS.has(part.type)) timed.heard();
              if (part.type === 'finish') isFinished = true;
              yield part;
            }
          } finally {
            timed.ended(isFinished, params.abortSignal);
          }
        }
        try {
          const { stream, ...rest } = await doStream();
          return { ...rest, stream: ReadableStream.from(measured(stream)) };
        } catch (error) {
          timed.ended(false, params.abortSignal);
          throw error;
        }
      },
    },
  });
}
