import { z } from 'zod';
import { Fingerprint } from '../local/pid-file.ts';

/** `up` writes it to the standard input of the supervisor, and to no file: the environment of the processes has keys. */
export const Orders = z
  .object({
    dir: z.string(),
    runDir: z.string(),
    processes: z.array(
      z.object({
        name: z.string(),
        logFile: z.string(),
        command: z.object({
          file: z.string(),
          args: z.array(z.string()),
          env: z.record(z.string(), z.string()),
          cwd: z.string(),
          fingerprint: Fingerprint.optional(),
        }),
      }),
    ),
  })
  .readonly();
