import { testBookCrashes } from './testing/crash-sweep.ts';

testBookCrashes('one');
