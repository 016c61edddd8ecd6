explain partyl
