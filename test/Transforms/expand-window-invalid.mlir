// RUN: decant-opt %s --decant-expand-window=kernels=prefill --verify-diagnostics

// expected-error @+1 {{option kernels is 'prefill'; allowed are decode, transfer}}
module {
}
