import { Gauge, type Registry } from 'prom-client';

/**
 * Registers the gauge of the times at which certificates expire (docs/metrics.md), which is read at each scrape: by use, ms
 * since the epoch.
 */
export function registerCertificates(registry: Registry, read: () => Readonly<Record<string, number>>): void {
  new Gauge({
    name: 'fleet_certificate_expiry_timestamp_seconds',
    help: 'When a certificate in use expires, seconds since the epoch.',
    labelNames: ['use'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [use, expiresAt] of Object.entries(read())) this.set({ use }, expiresAt / 1000);
    },
  });
}
