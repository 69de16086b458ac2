import { testBookCrashes } from '../../testing/books/crash-sweep.ts';

testBookCrashes('one');
