import type { CertificateTimes } from '@hermes-fleet/net/tls';
import { Gauge, type Registry } from 'prom-client';

/** Registers the gauges of the times of certificates (docs/metrics.md), which are read at each scrape: by use. */
export function registerCertificates(
  registry: Registry,
  read: () => Readonly<Record<string, CertificateTimes>>,
): void {
  const gauge = (name: string, help: string, timeOf: (times: CertificateTimes) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['use'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [use, times] of Object.entries(read())) this.set({ use }, timeOf(times) / 1000);
      },
    });
  gauge(
    'fleet_certificate_expiry_timestamp_seconds',
    'When a certificate in use expires, seconds since the epoch.',
    ({ expiresAt }) => expiresAt,
  );
  gauge(
    'fleet_certificate_renew_by_timestamp_seconds',
    'When a certificate in use is due for renewal, seconds since the epoch.',
    ({ renewBy }) => renewBy,
  );
}
