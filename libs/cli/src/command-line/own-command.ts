import { checkout } from '@hermes-fleet/installation';

/** A command as a user of this program writes it: in a checkout by `make` or `./fleet`, from the package as `fleet`. */
export const ownCommand = (words: string): string => {
  if (checkout() === undefined) return `fleet ${words}`;
  return words.includes(' ') ? `./fleet ${words}` : `make ${words}`;
};
