import type { FastifyInstance } from 'fastify';
import type { ProcessMetrics } from '../metrics/metrics.ts';
import './request.ts';

/** The readiness of a process and the state of its dependencies. */
export interface Readiness {
  /** False takes the process out of rotation; a degraded dependency alone does not. */
  readonly ready: boolean;
  readonly dependencies: Readonly<
    Record<string, { readonly state: 'ok' | 'degraded' | 'down'; readonly detail?: string }>
  >;
}

export interface ProbeOptions {
  readonly name: string;
  readonly version: string;
  readonly metrics: ProcessMetrics;
  readonly readiness: () => Readiness;
}

/**
 * `GET /health` (alive), `GET /ready` (200, or 503 with the reasons) and `GET /metrics`, all public, and without a client certificate
 * (docs/operations.md).
 */
export function registerProbes(
  app: FastifyInstance,
  { name, version, metrics: { registry }, readiness }: ProbeOptions,
): void {
  const config = { public: true, withoutCertificate: true };
  app.get('/health', { config: { ...config, anyHost: true } }, () => ({
    status: 'ok',
    name,
    version,
    uptime_s: Math.round(process.uptime() * 1000) / 1000,
  }));
  app.get('/ready', { config }, (_request, reply) => {
    const { ready, dependencies } = readiness();
    const degraded = Object.values(dependencies).some(({ state }) => state !== 'ok');
    const status = !ready ? 'unavailable' : degraded ? 'degraded' : 'ready';
    return reply.code(ready ? 200 : 503).send({ status, ready, dependencies });
  });
  app.get('/metrics', { config }, async (_request, reply) => {
    const text = await registry.metrics();
    return reply.type(registry.contentType).send(text);
  });
}
