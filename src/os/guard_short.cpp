// SPDX-License-Identifier: Apache-2.0
#include "os/guard_short.h"

#ifdef PLAT_GUARD_ASSEMBLY

// Both ends of a range are loaded before anything is stored, and may overlap in the middle: that leaves one
// branch for each power of two. Longer ones are a loop between the two ends.
asm(R"(
  .text
  .hidden plat_short_copy_begin, plat_short_copy_end, plat_short_copy_failed
  .hidden plat_short_copy_sse, plat_short_copy_avx
  .globl plat_short_copy_begin, plat_short_copy_end, plat_short_copy_failed
  .globl plat_short_copy_sse, plat_short_copy_avx
  .type plat_short_copy_sse, @function
  .type plat_short_copy_avx, @function

plat_short_copy_begin:
  .p2align 6
plat_short_copy_avx:
  .cfi_startproc
  cmpq $32, %rdx
  jb 20f
  cmpq $64, %rdx
  ja 1f
  movups (%rsi), %xmm0
  movups 16(%rsi), %xmm1
  movups -32(%rsi,%rdx), %xmm2
  movups -16(%rsi,%rdx), %xmm3
  movups %xmm0, (%rdi)
  movups %xmm1, 16(%rdi)
  movups %xmm2, -32(%rdi,%rdx)
  movups %xmm3, -16(%rdi,%rdx)
  movl $1, %eax
  ret
  .p2align 4
1:
  vmovdqu (%rsi), %ymm0
  vmovdqu 32(%rsi), %ymm1
  vmovdqu -64(%rsi,%rdx), %ymm2
  vmovdqu -32(%rsi,%rdx), %ymm3
  cmpq $128, %rdx
  jbe 3f
  leaq -64(%rdx), %rcx
  movl $64, %eax
  .p2align 4
2:
  vmovdqu (%rsi,%rax), %ymm4
  vmovdqu 32(%rsi,%rax), %ymm5
  vmovdqu %ymm4, (%rdi,%rax)
  vmovdqu %ymm5, 32(%rdi,%rax)
  addq $64, %rax
  cmpq %rcx, %rax
  jb 2b
3:
  vmovdqu %ymm0, (%rdi)
  vmovdqu %ymm1, 32(%rdi)
  vmovdqu %ymm2, -64(%rdi,%rdx)
  vmovdqu %ymm3, -32(%rdi,%rdx)
  vzeroupper
  movl $1, %eax
  ret

  .p2align 6
plat_short_copy_sse:
  cmpq $32, %rdx
  jb 20f
  movups (%rsi), %xmm0
  movups 16(%rsi), %xmm1
  movups -32(%rsi,%rdx), %xmm2
  movups -16(%rsi,%rdx), %xmm3
  cmpq $64, %rdx
  jbe 12f
  leaq -32(%rdx), %rcx
  movl $32, %eax
11:
  movups (%rsi,%rax), %xmm4
  movups 16(%rsi,%rax), %xmm5
  movups %xmm4, (%rdi,%rax)
  movups %xmm5, 16(%rdi,%rax)
  addq $32, %rax
  cmpq %rcx, %rax
  jb 11b
12:
  movups %xmm0, (%rdi)
  movups %xmm1, 16(%rdi)
  movups %xmm2, -32(%rdi,%rdx)
  movups %xmm3, -16(%rdi,%rdx)
  movl $1, %eax
  ret

20:
  cmpq $16, %rdx
  jb 21f
  movups (%rsi), %xmm0
  movups -16(%rsi,%rdx), %xmm1
  movups %xmm0, (%rdi)
  movups %xmm1, -16(%rdi,%rdx)
  movl $1, %eax
  ret
21:
  cmpq $8, %rdx
  jb 22f
  movq (%rsi), %rax
  movq -8(%rsi,%rdx), %rcx
  movq %rax, (%rdi)
  movq %rcx, -8(%rdi,%rdx)
  movl $1, %eax
  ret
22:
  cmpq $4, %rdx
  jb 23f
  movl (%rsi), %eax
  movl -4(%rsi,%rdx), %ecx
  movl %eax, (%rdi)
  movl %ecx, -4(%rdi,%rdx)
  movl $1, %eax
  ret
23:
  testq %rdx, %rdx
  je 24f
  movq %rdx, %r9
  shrq $1, %r9
  movb (%rsi), %al
  movb (%rsi,%r9), %cl
  movb -1(%rsi,%rdx), %r8b
  movb %al, (%rdi)
  movb %cl, (%rdi,%r9)
  movb %r8b, -1(%rdi,%rdx)
24:
  movl $1, %eax
  ret
plat_short_copy_failed:
  xorl %eax, %eax
  ret
  .cfi_endproc
plat_short_copy_end:

  .hidden plat_guarded_call, plat_guarded_call_returns, plat_guarded_call_failed
  .globl plat_guarded_call, plat_guarded_call_returns, plat_guarded_call_failed
  .type plat_guarded_call, @function
  .p2align 4
plat_guarded_call:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  .cfi_offset %rbx, -24
  .cfi_offset %r12, -32
  .cfi_offset %r13, -40
  .cfi_offset %r14, -48
  .cfi_offset %r15, -56
  pushq %rsi
  pushq %rdx
  pushq %rcx
  movq plat_guarded_frame@gottpoff(%rip), %rbx
  pushq %fs:(%rbx)
  subq $8, %rsp
  leaq 8(%rsp), %rax
  movq %rax, %fs:(%rbx)
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  call *%rax
plat_guarded_call_returns:
  movl $1, %eax
1:
  movq plat_guarded_frame@gottpoff(%rip), %rbx
  addq $8, %rsp
  popq %fs:(%rbx)
  addq $24, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  .cfi_def_cfa %rsp, 8
  ret
plat_guarded_call_failed:
  .cfi_def_cfa %rbp, 16
  subq $8, %rsp
  xorl %eax, %eax
  jmp 1b
  .cfi_endproc
)");

thread_local constinit const PlatGuardedFrame* plat_guarded_frame = nullptr;

#endif
