import type { FastifyInstance } from 'fastify';
import type { FleetMetrics } from '../metrics/metrics.ts';
import './request.ts';

/** Whether a process can do its work, and how it is with each thing that it depends on. */
export interface Readiness {
  /** False takes the process out of rotation. A degraded dependency alone does not. */
  readonly ready: boolean;
  readonly dependencies: Readonly<
    Record<string, { readonly state: 'ok' | 'degraded' | 'down'; readonly detail?: string }>
  >;
}

export interface ProbesOptions {
  readonly name: string;
  readonly version: string;
  readonly metrics: FleetMetrics;
  readonly readiness: () => Readiness;
}

/** `GET /health` (alive), `GET /ready` (200, or 503 with the reasons) and `GET /metrics`, all public (design 5, HTTP). */
export function registerProbes(app: FastifyInstance, o: ProbesOptions): void {
  const config = { public: true };
  app.get('/health', { config }, () => ({
    status: 'ok',
    name: o.name,
    version: o.version,
    uptime_s: Math.round(process.uptime() * 1000) / 1000,
  }));
  app.get('/ready', { config }, (_request, reply) => {
    const { ready, dependencies } = o.readiness();
    const degraded = Object.values(dependencies).some(({ state }) => state !== 'ok');
    const status = !ready ? 'unavailable' : degraded ? 'degraded' : 'ready';
    return reply.code(ready ? 200 : 503).send({ status, ready, dependencies });
  });
  app.get('/metrics', { config }, async (_request, reply) => {
    const text = await o.metrics.registry.metrics();
    return reply.type(o.metrics.registry.contentType).send(text);
  });
}
