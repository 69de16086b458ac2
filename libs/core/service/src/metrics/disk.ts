import { stat, statfs } from 'node:fs/promises';
import { Gauge, type Registry } from 'prom-client';

/** The endings of a SQLite file and of its write-ahead log. */
const PARTS = ['', '-wal'];

/**
 * Registers the gauges of the disk that holds a ledger, and of the ledger's size (docs/metrics.md). They are read at each
 * scrape; a value that cannot be read is omitted.
 */
export function registerDisk(registry: Registry, ledgerFile: string): void {
  const gauge = (name: string, help: string, read: () => Promise<number>): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        try {
          this.set(await read());
        } catch {
          // The other metrics are still served; /ready reports a ledger that cannot be read.
          this.remove();
        }
      },
    });
  };
  gauge('fleet_disk_free_bytes', 'Free space of the disk that holds the ledger.', async () => {
    const { bavail, bsize } = await statfs(ledgerFile);
    return bavail * bsize;
  });
  gauge('fleet_disk_size_bytes', 'Size of the disk that holds the ledger.', async () => {
    const { blocks, bsize } = await statfs(ledgerFile);
    return blocks * bsize;
  });
  gauge('fleet_ledger_size_bytes', 'Size of the ledger, with its write-ahead log.', async () => {
    const sizes = await Promise.all(PARTS.map((part) => sizeOf(`${ledgerFile}${part}`, part !== '')));
    return sizes.reduce((sum, size) => sum + size, 0);
  });
}

/** The size of a file; 0 for an optional one that is absent. */
async function sizeOf(file: string, isOptional: boolean): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (isOptional && error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
    throw error;
  }
}
