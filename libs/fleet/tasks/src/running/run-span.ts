import type { AdmittedTask, Executor, Span, Tracing } from '@hermes-fleet/protocol/ports';

interface TracedRun {
  readonly task: AdmittedTask;
  readonly executor: Executor;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/**
 * Begins the span of a run, in the trace of the request that created its task, also after a restart. A span before it
 * covers the wait from the acceptance to the first run. Undefined where traces are off.
 */
export function startRunSpan(
  tracing: Tracing | undefined,
  { task, executor, receivedAt }: TracedRun,
): Span | undefined {
  if (tracing === undefined) return undefined;
  const { traceparent: parent, resumes } = task;
  const attributes = { 'hermes.task.id': task.id };
  if (resumes === 0) tracing.start('wait', { parent, attributes, startedAt: receivedAt }).end();
  return tracing.start('run', {
    parent,
    attributes: {
      ...attributes,
      'hermes.task.resumes': resumes,
      'hermes.executor.model': executor.model.id,
      'hermes.executor.tier': executor.model.tier,
    },
  });
}
