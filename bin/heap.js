// Keeps the heap small. V8 lets it grow by the machine's memory, not by what a program needs: left alone, a long sync
// would hold hundreds of megabytes of garbage. Only growth is slowed; what may be in use has no new bound.
'use strict'

var v8 = require('v8')

module.exports = function keepHeapSmall() {
  // The young generation keeps the size that it starts with.
  v8.setFlagsFromString('--semi-space-growth-factor=1')
  // The old one is collected when it is a fifth larger than what was in use.
  v8.setFlagsFromString('--heap-growing-percent=20')
}
