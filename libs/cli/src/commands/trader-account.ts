import { objectAt, textAt } from '../client/fields.ts';
import { callApi } from '../client/http.ts';
import { command } from '../command-line/command.ts';
import { noArguments, UsageError } from '../command-line/options.ts';
import { printLines } from '../command-line/output.ts';
import { findTrader, requireFleet } from '../command-line/running-fleet.ts';
import { traderAccountResetUsage } from '../usage/trader.ts';

/** `fleet trader account reset`: opens a paper account anew with the balances of trader.yaml. */
export const resetCommand = command(
  traderAccountResetUsage,
  async ({ values, positionals, stdin, stdout, print }) => {
    noArguments('trader account reset', positionals);
    const { concern, reason } = values;
    if (concern === undefined || reason === undefined)
      throw new UsageError('trader account reset takes --concern and --reason');
    return requireFleet(async () => {
      const { target } = await findTrader(values, stdin);
      const done = await callApi(target, '/books/reset', { concern_id: concern, reason });
      if (print) print(done);
      else {
        const [before, after] = [objectAt(done, 'before'), objectAt(done, 'after')];
        printLines(stdout, [
          `the account of ${textAt(done, 'concern_id')} is reset`,
          `  equity    ${textAt(before, 'equity')} -> ${textAt(after, 'equity')}`,
          `  position  ${textAt(before, 'position')} -> ${textAt(after, 'position')}`,
        ]);
      }
      return 0;
    });
  },
);
