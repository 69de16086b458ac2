import { Gauge, type Registry } from 'prom-client';

/**
 * Registers the gauge of the circuits to peers (docs/metrics.md), which is read at each scrape: true for an open one. The
 * names are labels, so `read` gives configured peers only.
 */
export function registerCircuits(registry: Registry, read: () => Readonly<Record<string, boolean>>): void {
  new Gauge({
    name: 'fleet_peer_circuit_open',
    help: '1 while the circuit to a peer is open, else 0.',
    labelNames: ['peer'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [peer, isOpen] of Object.entries(read())) this.set({ peer }, isOpen ? 1 : 0);
    },
  });
}
