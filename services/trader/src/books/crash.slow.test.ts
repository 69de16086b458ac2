import { testBookCrashes } from '../../testing/books/crash-sweep.ts';

testBookCrashes(1);
