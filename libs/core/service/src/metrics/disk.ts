import { stat, statfs } from 'node:fs/promises';
import type { FleetMetrics } from './metrics.ts';

/** The endings of a SQLite file and of its write-ahead log. */
const PARTS = ['', '-wal'];

/** Reads the disk that holds a ledger, and the ledger's size, for the metrics. */
export function readDisk({ read }: Pick<FleetMetrics, 'read'>, ledgerFile: string): void {
  read({
    fleet_disk_free_bytes: async () => {
      const { bavail, bsize } = await statfs(ledgerFile);
      return bavail * bsize;
    },
    fleet_disk_size_bytes: async () => {
      const { blocks, bsize } = await statfs(ledgerFile);
      return blocks * bsize;
    },
    fleet_ledger_size_bytes: async () => {
      const sizes = await Promise.all(PARTS.map((part) => sizeOf(`${ledgerFile}${part}`, part !== '')));
      return sizes.reduce((sum, size) => sum + size, 0);
    },
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
