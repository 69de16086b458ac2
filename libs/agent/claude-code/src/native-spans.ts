import { inToolSpan, type RunResources } from '@hermes-fleet/loop';

/** The spans of Claude Code's own tools, from the hook before a call to the record of its result. */
export interface NativeSpans {
  begin(id: string, tool: string): void;
  /** Ends the span of a call, if it has one. */
  end(id: string, ok: boolean): void;
}

/** A call that gets no result, because its session ended, has no span. */
export function createNativeSpans({ task, tracing }: Pick<RunResources, 'task' | 'tracing'>): NativeSpans {
  const open = new Map<string, (ended: { readonly ok: boolean }) => void>();
  return {
    begin(id, tool) {
      if (tracing === undefined) return;
      const { promise, resolve } = Promise.withResolvers<{ readonly ok: boolean }>();
      open.set(id, resolve);
      void inToolSpan({ task, tracing }, tool, () => promise);
    },
    end(id, ok) {
      open.get(id)?.({ ok });
      open.delete(id);
    },
  };
}
