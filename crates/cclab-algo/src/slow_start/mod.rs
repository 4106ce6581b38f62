//! Ways to leave slow start before it overflows the queue.
